// Bytes as a file that has a path and is on no file system, for what reads files: secrets, and what
// is judged as a file would be.
//
// Invariants:
//  1. A reader of the path finds what was put last, as a whole: each put() is a file of its own,
//     which takes the place of the one before in one step.
//  2. Only this process may open the path.
//
// Thread rule: one thread puts; any may read. Source: memfd_create(2), dup3(2), proc(5).
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace lastcall::kube {

class MemoryFile {
 public:
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  /// Why the bytes cannot be kept; empty: they are. The path holds from the first time on.
  std::string put(std::string_view bytes);
  /// Leaves the file to the process, until its end.
  void release() { file_.release(); }

 private:
  Descriptor file_;
};

}  // namespace lastcall::kube
