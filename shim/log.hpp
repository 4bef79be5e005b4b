// Writes lines to stderr, as `lastcall-shim: ...`.
//
// Rules: 1. a line is one write, so that it never mixes with the engine's own lines; 2. if the
// reader has stopped reading, the line is lost, but nothing waits: PID 1 must not hang on a full
// log pipe. Only the report of a stop may wait, for as long as its caller allows; 3. as a plain
// init the shim is silent unless it cannot do its task.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/instant.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

class LogLine {
 public:
  /// `patience`: how long to wait for the reader of a full pipe.
  explicit LogLine(Duration patience = Duration{0});
  ~LogLine();
  LogLine(LogLine const&) = delete;
  LogLine& operator=(LogLine const&) = delete;

  LogLine& operator<<(std::string_view piece) {
    text_ << piece;
    return *this;
  }
  LogLine& operator<<(std::int64_t number) {
    text_ << number;
    return *this;
  }
  LogLine& operator<<(int number) { return *this << std::int64_t{number}; }

 private:
  Duration patience_;
  TextOf<3072> text_;  // a pipe accepts PIPE_BUF, 4096, at once
};

/// Whether a line would have to wait for its reader.
bool is_log_full();

/// The system's own text for an errno value.
std::string_view error_text(int error);

}  // namespace lastcall::shim
