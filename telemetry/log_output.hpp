// Writes lines to standard error without ever waiting for the reader.
//
// Rules:
//  1. A full pipe must not block the supervisor: a line that does not fit is refused, and the log
//     keeps it.
//  2. The descriptor is shared with the shim and the engine, so it must not be made non-blocking
//     for them. A pipe is opened again, which gives us a flag of our own; for a socket the flag is
//     set per call; for anything else poll(2) is called first.
//  3. A line is written completely or not at all. Only of a line that is longer than a pipe takes
//     at once a part may be written; then the next line begins on a new line.
//
// Thread rule: the owner's lock. Source: pipe(7), open(2), proc(5).
#pragma once

#include <string_view>

#include "base/descriptor.hpp"

namespace lastcall::telemetry {

class LogOutput {
 public:
  /// `fd` belongs to the caller and outlives this object.
  explicit LogOutput(int fd);

  /// True if the whole line was written.
  bool write(std::string_view line);

 private:
  enum class Kind : unsigned char { own_pipe, socket, other };

  /// The number of bytes that were written; 0 if it would have to wait or no reader is left.
  std::size_t push(std::string_view bytes) const;
  bool wait_for_room() const;

  int fd_;
  Descriptor own_;
  Kind kind_ = Kind::other;
  bool is_torn_ = false;
};

}  // namespace lastcall::telemetry
