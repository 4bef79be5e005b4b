#include "router/continuation/event_reader.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::router::continuation {
namespace {

/// Returns the position after the first line end at or after `at`, or npos. A carriage return that
/// nothing follows yet may be the first half of a line end. The search proceeds in windows, so that
/// a text whose lines all end with a carriage return does not cost a search for a line feed per
/// line.
std::size_t line_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kWindow = 512;
  if (text.substr(at).starts_with('\n')) {
    return at + 1;  // an empty line, as at the end of each event
  }
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

constexpr std::string_view kMark = "\xEF\xBB\xBF";

std::string_view value_of(std::string_view line, std::size_t name) {
  line.remove_prefix(name);
  line.remove_prefix(line.starts_with(' ') ? 1 : 0);
  return line;
}

}  // namespace

bool EventReader::Lines::take(std::string_view text, std::size_t end) {
  std::string_view line = text.substr(at, end - at);
  line.remove_suffix(line.ends_with('\n') ? 1 : 0);
  line.remove_suffix(line.ends_with('\r') ? 1 : 0);
  std::size_t const begin = std::exchange(at, end);
  if (line.empty()) {
    return true;
  }
  if (line.front() == ':') {
    is_comment = !has_field;
    data_begin = is_comment ? begin + 1 : data_begin;
    data_size = is_comment ? line.size() - 1 : data_size;
    return is_comment;
  }
  has_field = true;
  if (line.starts_with("data:")) {
    std::string_view const value = value_of(line, 5);
    ++data_lines;
    data_begin = static_cast<std::size_t>(value.data() - text.data());
    data_size = value.size();
  } else if (line == "data") {
    ++data_lines;
    data_size = 0;
  } else if (line.starts_with("event:")) {
    names_error = value_of(line, 6) == "error";
  }
  return false;
}

Event EventReader::Lines::finish(std::string_view text) const {
  Event event{Event::Kind::blank, text, {}};
  if (is_comment) {
    event.kind = Event::Kind::comment;
  } else if (has_field) {
    event.kind = names_error ? Event::Kind::error : Event::Kind::data;
    event.kind = data_lines == 1 ? event.kind : Event::Kind::other;
  }
  if (event.kind != Event::Kind::blank && event.kind != Event::Kind::other) {
    event.data = text.substr(data_begin, data_size);
  }
  return event;
}

std::size_t EventReader::TornEnd::find(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bool const is_feed = bytes[at] == '\n';
    if (std::exchange(has_return, false)) {
      if (has_ended) {
        return at + (is_feed ? 1 : 0);
      }
      if (is_feed) {
        continue;
      }
    }
    if (!is_feed && bytes[at] != '\r') {
      is_line_empty = false;
      at = std::min(bytes.find_first_of("\r\n", at), bytes.size()) - 1;
      continue;
    }
    has_ended = std::exchange(is_line_empty, true) || is_comment;
    has_return = !is_feed;
    if (has_ended && is_feed) {
      return at + 1;
    }
  }
  return bytes.npos;
}

/// The event is too large: the part of it that has arrived is returned, and no longer kept.
std::optional<Event> EventReader::tear() {
  std::string_view const text = part_->text;
  part_->torn_end.is_comment = !part_->lines.has_field && text.starts_with(':');
  part_->is_torn = part_->torn_end.find(text.substr(part_->lines.at)) == text.npos;
  part_->is_out = true;
  return Event{part_->torn_end.kind(), text, {}};
}

/// Returns more of an event that is too large.
std::optional<Event> EventReader::torn(std::string_view& bytes) {
  std::size_t const end = part_->torn_end.find(bytes);
  std::string_view const more = bytes.substr(0, end);
  Event::Kind const kind = part_->torn_end.kind();
  bytes.remove_prefix(more.size());
  if (end != more.npos) {
    part_.reset();
  }
  return more.empty() ? (part_ ? std::nullopt : next(bytes)) : std::optional(Event{kind, more, {}});
}

/// Removes the byte order mark at the start of the stream. Returns false if its end may follow.
bool EventReader::skip_mark(std::string_view& bytes) {
  while (mark_ < kMark.size() && !bytes.empty() && bytes.front() == kMark[mark_]) {
    bytes.remove_prefix(1);
    ++mark_;
  }
  if (mark_ == kMark.size() || bytes.empty()) {
    return mark_ == kMark.size();
  }
  if (mark_ > 0) {  // it only looked like one
    part_ = std::make_unique<Part>(Part{.text = std::string(kMark.substr(0, mark_)), .lines = {}});
  }
  mark_ = kMark.size();
  return true;
}

std::optional<Event> EventReader::next(std::string_view& bytes) {
  if (mark_ < kMark.size() && !skip_mark(bytes)) {
    return std::nullopt;
  }
  if (part_ && std::exchange(part_->is_out, false)) {
    std::string().swap(part_->text);
    if (!part_->is_torn) {
      part_.reset();
    }
  }
  if (part_ && part_->is_torn) {
    return torn(bytes);
  }
  return part_ ? rest(bytes) : whole(bytes);
}

/// Nothing is copied as long as an event is complete in `bytes`.
std::optional<Event> EventReader::whole(std::string_view& bytes) {
  std::string_view const text = bytes;
  if (text.empty()) {
    return std::nullopt;
  }
  Lines lines;
  for (std::size_t end = line_end(text, 0); end != text.npos; end = line_end(text, lines.at)) {
    if (lines.take(text, end)) {
      bytes.remove_prefix(end);
      return lines.finish(text.substr(0, end));
    }
  }
  bytes = {};
  part_ = std::make_unique<Part>(Part{.text = std::string(text), .lines = lines});
  return text.size() > kMaxEvent ? tear() : std::nullopt;
}

std::optional<Event> EventReader::rest(std::string_view& bytes) {
  std::string& part = part_->text;
  Lines& lines = part_->lines;
  while (!bytes.empty()) {
    bool const has_return = lines.at < part.size() && part.back() == '\r';
    std::size_t const end = has_return ? (bytes.front() == '\n' ? 1 : 0) : line_end(bytes, 0);
    std::size_t const size = std::min(end, bytes.size());
    part.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (part.size() > kMaxEvent) {
      return tear();
    }
    if (end != std::string_view::npos && lines.take(part, part.size())) {
      part_->is_out = true;
      return lines.finish(part);
    }
  }
  return std::nullopt;
}

}  // namespace lastcall::router::continuation
