#include "ingress/event_scanner.hpp"

namespace lastcall::ingress {

std::size_t EventScanner::scan(std::string_view bytes) {
  std::size_t boundary = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char const c = bytes[i];
    if (c == '\n' && after_return_) {  // the second half of a CRLF
      after_return_ = false;
      if (boundary_at_return_) {
        boundary = i + 1;
      }
      continue;
    }
    after_return_ = c == '\r';
    if (c == '\n' || c == '\r') {
      boundary_at_return_ = end_line();
      if (boundary_at_return_) {
        boundary = i + 1;
      }
      continue;
    }
    if (line_is_empty_) {
      line_is_empty_ = false;
      line_is_comment_ = c == ':';
    }
  }
  return boundary;
}

/// True when the stream is at a boundary after this line.
bool EventScanner::end_line() {
  if (line_is_empty_) {
    events_ += pending_ ? 1 : 0;
    pending_ = false;
  } else if (!line_is_comment_) {
    pending_ = true;
  }
  line_is_empty_ = true;
  return !pending_;
}

}  // namespace lastcall::ingress
