// Keeps bytes in a file that has a path but is on no file system, for code that reads files:
// secrets, and text that is checked as a file.
//
// Invariants:
//  1. A reader of the path always finds the complete content of the last put(): each put() makes a
//     file of its own, which replaces the previous one in one step.
//  2. Only this process may open the path.
//
// Thread rule: one thread calls put(); any may read. Source: memfd_create(2), dup3(2), proc(5).
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace lastcall::kube {

class MemoryFile {
 public:
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  /// Returns why the bytes cannot be kept, or an empty text. The path is valid from the first put()
  /// on.
  std::string put(std::string_view bytes);
  /// Keeps the file open until the process ends.
  void release() { file_.release(); }

 private:
  Descriptor file_;
};

}  // namespace lastcall::kube
