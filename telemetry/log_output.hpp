// Lines to standard error that never wait for who reads them.
//
// Rules:
//  1. A full pipe costs lines, not the supervisor: a line that does not fit is refused, for the log
//     to keep.
//  2. The descriptor is shared with the shim and the engine, so it cannot be made non-blocking for
//     them. A pipe is opened again, which gives a flag of our own; a socket has it per call;
//     anything else is asked with poll(2) first.
//  3. A line is whole or missing. If it is longer than a pipe takes at once, a part may be there;
//     the next line then begins on a line of its own.
//
// Thread rule: the owner's lock. Source: pipe(7), open(2), proc(5).
#pragma once

#include <string_view>

#include "base/descriptor.hpp"

namespace lastcall::runtime {

class LogOutput {
 public:
  /// `fd` stays the caller's and outlives this.
  explicit LogOutput(int fd);

  /// True: all of it is out.
  bool write(std::string_view line);

 private:
  enum class Kind : unsigned char { own_pipe, socket, other };

  /// The number of bytes that were taken; nothing: it would have to wait, or no reader is left.
  std::size_t push(std::string_view bytes) const;
  bool wait_for_room() const;

  int fd_;
  Descriptor own_;
  Kind kind_ = Kind::other;
  bool is_torn_ = false;
};

}  // namespace lastcall::runtime
