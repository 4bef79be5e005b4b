#include "router/continuation/event_reader.hpp"

#include <algorithm>

namespace lastcall::router::continuation {
namespace {

/// Returns the place after the first line end at or after `at`, or npos; a return that nothing
/// follows yet may be half of one. It looks at one window after the other, so that lines that all
/// end with a return cost no search for a line feed each.
std::size_t line_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kWindow = 256;
  for (; at < text.size(); at += kWindow) {
    std::string_view window = text.substr(at, kWindow);
    std::size_t const feed = window.find('\n');
    window = window.substr(0, feed);
    std::size_t const back = window.find('\r');
    if (back != window.npos) {
      std::size_t const next = at + back + 1;
      return next == text.size() ? text.npos : next + (text[next] == '\n' ? 1 : 0);
    }
    if (feed != window.npos) {
      return at + feed + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view value_of(std::string_view line, std::size_t name) {
  line.remove_prefix(name);
  line.remove_prefix(line.starts_with(' ') ? 1 : 0);
  return line;
}

}  // namespace

/// The line from line_ to before `end`, its own end included. True when it ends an event.
bool EventReader::take_line(std::string_view text, std::size_t end) {
  std::string_view line = text.substr(line_, end - line_);
  line.remove_suffix(line.ends_with('\n') ? 1 : 0);
  line.remove_suffix(line.ends_with('\r') ? 1 : 0);
  std::uint32_t const begin = line_;
  line_ = static_cast<std::uint32_t>(end);
  if (line.empty()) {
    return true;
  }
  if (line.front() == ':') {
    is_comment_ = !has_field_;
    data_begin_ = is_comment_ ? begin + 1 : data_begin_;
    data_size_ = is_comment_ ? static_cast<std::uint32_t>(line.size() - 1) : data_size_;
    return is_comment_;
  }
  has_field_ = true;
  if (line.starts_with("data:")) {
    std::string_view const value = value_of(line, 5);
    ++data_lines_;
    data_begin_ = static_cast<std::uint32_t>(value.data() - text.data());
    data_size_ = static_cast<std::uint32_t>(value.size());
  } else if (line == "data") {
    ++data_lines_;
    data_size_ = 0;
  } else if (line.starts_with("event:")) {
    names_error_ = value_of(line, 6) == "error";
  }
  return false;
}

Event EventReader::finish(std::string_view text) {
  Event event{Event::Kind::blank, text, {}};
  if (is_comment_) {
    event.kind = Event::Kind::comment;
  } else if (has_field_) {
    event.kind = names_error_ ? Event::Kind::error : Event::Kind::data;
    event.kind = data_lines_ == 1 ? event.kind : Event::Kind::other;
  }
  if (event.kind != Event::Kind::blank && event.kind != Event::Kind::other) {
    event.data = text.substr(data_begin_, data_size_);
  }
  line_ = data_begin_ = data_size_ = 0;
  data_lines_ = 0;
  has_field_ = names_error_ = is_comment_ = false;
  return event;
}

std::optional<Event> EventReader::tear(std::string_view& bytes) {
  is_torn_ = true;
  if (part_ && !part_is_out_) {
    part_is_out_ = true;
    return Event{Event::Kind::torn, *part_, {}};
  }
  if (bytes.empty()) {
    return std::nullopt;
  }
  Event const event{Event::Kind::torn, bytes, {}};
  bytes = {};
  return event;
}

std::optional<Event> EventReader::next(std::string_view& bytes) {
  if (part_is_out_) {
    part_.reset();
    part_is_out_ = false;
  }
  if (is_torn_) {
    return tear(bytes);
  }
  return part_ ? rest(bytes) : whole(bytes);
}

/// As long as an event is whole in `bytes`, nothing is copied.
std::optional<Event> EventReader::whole(std::string_view& bytes) {
  std::string_view const text = bytes;
  for (std::size_t end = line_end(text, 0); end != text.npos; end = line_end(text, line_)) {
    if (take_line(text, end)) {
      bytes.remove_prefix(end);
      return finish(text.substr(0, end));
    }
  }
  bytes = {};
  if (text.empty()) {
    return std::nullopt;
  }
  part_ = std::make_unique<std::string>(text);
  return text.size() > most_ ? tear(bytes) : std::nullopt;
}

std::optional<Event> EventReader::rest(std::string_view& bytes) {
  std::string& part = *part_;
  while (!bytes.empty()) {
    bool const has_return = line_ < part.size() && part.back() == '\r';
    std::size_t const end = has_return ? (bytes.front() == '\n' ? 1 : 0) : line_end(bytes, 0);
    std::size_t const size = std::min(end, bytes.size());
    part.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (part.size() > most_) {
      return tear(bytes);
    }
    if (end != std::string_view::npos && take_line(part, part.size())) {
      part_is_out_ = true;
      return finish(part);
    }
  }
  return std::nullopt;
}

}  // namespace lastcall::router::continuation
