// Reads server-sent events one after the other, each with its bytes and its data.
//
// Rules:
//  1. However the bytes are split, the events are the same; and their bytes joined are the stream,
//     without the byte order mark at its start, which would hide a field in the middle of another.
//  2. The memory for an event is bounded: an event of more than kMaxEvent bytes is returned
//     unchanged, in parts that are `torn`; the events after it are read as usual.
//  3. An event that ends with a lone carriage return is complete with the next byte, which may be a
//     line feed.
//  4. A comment line or an empty line outside of an event is returned at once. A comment line of
//     more than kMaxEvent bytes is returned in parts, and ends with its line.
//
// Pure, no thread rule. Source: the HTML standard, 'Server-sent events', 9.2.5 (parsing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::router::continuation {

struct Event {
  enum class Kind : std::uint8_t {
    data,          // one line of data, and possibly an `event`, `id` or `retry`
    error,         // its name is `error`
    other,         // several lines of data, or none
    comment,       // a comment outside of an event
    blank,         // an empty line outside of an event
    torn,          // a part of an event that is too large
    torn_comment,  // a part of a comment that is too large
  };
  Kind kind{};
  std::string_view bytes;  // the whole event, including line ends
  std::string_view data;   // the line of data, or the text of the comment; otherwise empty
};

class EventReader {
 public:
  /// The ids of a prompt arrive in one event; this is enough for half a million of them.
  static constexpr std::uint32_t kMaxEvent = std::uint32_t{4} * 1024 * 1024;

  /// Removes the next event from the front of `bytes`; absent if no event is complete. Its views
  /// are valid until the next call, but only as long as `bytes` is.
  std::optional<Event> next(std::string_view& bytes);
  /// The number of bytes held of an event that has not ended.
  std::size_t held() const { return part_ ? part_->text.size() : 0; }
  /// Whether parts of an event that is too large have been returned, and its end has not arrived.
  bool is_inside_torn() const {
    return part_ && part_->is_torn && !part_->torn_end.is_comment && !part_->torn_end.has_ended;
  }

 private:
  /// The event that is being read, as far as its lines have been taken.
  struct Lines {
    /// Takes the line from `at` up to `end` of `text`, including its line end. Returns true if the
    /// line ends the event.
    bool take(std::string_view text, std::size_t end);
    Event finish(std::string_view text) const;

    std::size_t at = 0;          // where the next line begins
    std::size_t data_begin = 0;  // begin of the line of data
    std::size_t data_size = 0;
    std::size_t data_lines = 0;
    bool has_field = false;  // a line of the event has been taken
    bool names_error = false;
    bool is_comment = false;  // a line outside of an event
  };
  /// Finds the empty line that ends an event of which nothing is kept, or the end of a comment.
  struct TornEnd {
    /// Returns the number of bytes up to the end of the event, or npos.
    std::size_t find(std::string_view bytes);
    Event::Kind kind() const { return is_comment ? Event::Kind::torn_comment : Event::Kind::torn; }

    bool is_line_empty = true;
    bool has_return = false;  // the last byte was a carriage return, and a line feed may follow
    bool has_ended = false;   // with that carriage return
    bool is_comment = false;  // it ends with its line
  };
  struct Part {  // the start of an event whose end has not arrived
    std::string text;
    Lines lines;
    TornEnd torn_end{};
    bool is_out = false;   // it has been returned
    bool is_torn = false;  // the event is too large
  };

  bool skip_mark(std::string_view& bytes);
  std::optional<Event> whole(std::string_view& bytes);
  std::optional<Event> rest(std::string_view& bytes);
  std::optional<Event> tear();
  std::optional<Event> torn(std::string_view& bytes);

  std::unique_ptr<Part> part_;  // absent while a stream is silent between two events
  std::uint8_t mark_ = 0;       // bytes of a byte order mark that the stream has begun with
};

}  // namespace lastcall::router::continuation
