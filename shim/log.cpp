#include "shim/log.hpp"

#include <poll.h>
#include <unistd.h>

#include "base/error_text.hpp"

namespace lastcall::shim {

LogLine::LogLine(Duration patience) : patience_(patience) {
  text_ << "lastcall-shim: ";
}

LogLine::~LogLine() {
  text_ << "\n";
  // stderr is shared with the engine, so it cannot be made non-blocking. A pipe that polls writable
  // takes PIPE_BUF bytes without blocking, and a line is shorter than that.
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(patience_.count())) == 1 && (ready.revents & POLLOUT) != 0) {
    ssize_t const written = write(STDERR_FILENO, text_.view().data(), text_.view().size());
    static_cast<void>(written);  // if it failed, no reader is left
  }
}

bool is_log_full() {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  return poll(&ready, 1, 0) == 0;
}

std::string_view error_text(int error) {
  std::string_view const text = known_error_text(error);
  return text.empty() ? "unknown error" : text;
}

}  // namespace lastcall::shim
