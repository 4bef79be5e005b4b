#include "relay/event_scanner.hpp"

#include <algorithm>

namespace lastcall::relay {
namespace {

bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

/// Cuts a text into lines. Two searches for one byte each are faster than one search for either of
/// two; the line feed is looked for once, however many lines before it end with a carriage return.
class Lines {
 public:
  explicit Lines(std::string_view bytes) : bytes_(bytes) {}
  /// The line that begins at `at`, without its end.
  std::string_view from(std::size_t at) {
    if (feed_ < at || at == 0) {
      feed_ = std::min(bytes_.find('\n', at), bytes_.size());
    }
    std::string_view const line = bytes_.substr(at, feed_ - at);
    return line.substr(0, line.find('\r'));
  }

 private:
  std::string_view bytes_;
  std::size_t feed_ = 0;
};

bool take(std::string_view& text, std::string_view prefix) {
  bool const is_there = text.starts_with(prefix);
  text.remove_prefix(is_there ? prefix.size() : 0);
  return is_there;
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

}  // namespace

EventScanner::Found EventScanner::scan(std::string_view bytes) {
  Found found;
  std::size_t at = 0;
  Lines lines(bytes);
  while (at < bytes.size()) {
    char const c = bytes[at];
    bool const is_second_half = after_return_ && c == '\n';  // of a CRLF
    after_return_ = c == '\r';
    if (is_second_half) {
      ++at;
      found.boundary = boundary_at_return_ ? at : found.boundary;
    } else if (ends_line(c)) {
      ++at;
      boundary_at_return_ = end_line(found, at);
      found.boundary = boundary_at_return_ ? at : found.boundary;
    } else {
      std::string_view const line = lines.from(at);
      begin_or_go_on(line);
      at += line.size();
    }
  }
  return found;
}

void EventScanner::begin_or_go_on(std::string_view line) {
  if (line_is_empty_) {
    line_is_empty_ = false;
    line_is_comment_ = line.front() == ':';
    head_size_ = 0;
  }
  std::size_t const size = std::min(line.size(), kHead - head_size_);
  std::copy_n(line.data(), size, head_.data() + head_size_);
  head_size_ = static_cast<std::uint8_t>(head_size_ + size);
}

/// Returns true if the stream is at a boundary after this line, which ends before `end`.
bool EventScanner::end_line(Found& found, std::size_t end) {
  if (line_is_empty_) {
    if (is_suspect_ && !found.suspect) {
      found.suspect = Suspect{found.boundary, end, events_};
    }
    events_ += pending_ ? 1 : 0;
    pending_ = is_suspect_ = false;
  } else if (!line_is_comment_) {
    pending_ = true;
    is_suspect_ = is_suspect_ || head_names_error();
  }
  line_is_empty_ = true;
  return !pending_;
}

bool EventScanner::head_names_error() const {
  std::string_view head(head_.data(), head_size_);
  if (take(head, "event:")) {
    skip_spaces(head);
    return head == "error";
  }
  if (!take(head, "data:")) {
    return false;
  }
  skip_spaces(head);
  if (!take(head, "{")) {
    return false;
  }
  skip_spaces(head);
  return head.starts_with("\"error\"");
}

}  // namespace lastcall::relay
