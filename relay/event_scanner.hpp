// Finds where server-sent events end, so that a stream can be cut between two of them. It also
// finds the events that may report an error.
//
// Rules:
//  1. A boundary is the start of the stream, the end of the empty line that ends an event, or the
//     end of a comment line outside of an event: lines that keep a connection alive are never held
//     back.
//  2. An event counts if it had a line that is not a comment.
//  3. An event may report an error when it is named `error`, or a line of its data begins with an
//     object whose first key is "error". Only the first bytes of a line are examined, so the cost
//     of a line does not depend on its length, and engine_error.hpp decides whether it is an error.
//
// Pure, no thread rule. Source: the HTML standard, 'Server-sent events', 9.2.5 (parsing).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lastcall::relay {

class EventScanner {
 public:
  /// An event that may report an error.
  struct Suspect {
    std::size_t begin = 0;  // also 0 if the event began before the bytes that were scanned
    std::size_t end = 0;
    std::uint64_t before = 0;  // number of events that were complete before it
  };
  struct Found {
    std::size_t boundary = 0;        // number of bytes up to the last boundary; 0 if there is none
    std::optional<Suspect> suspect;  // the first one that ended
  };

  /// Returns what is in `bytes`, which follow the bytes of the last call.
  Found scan(std::string_view bytes);
  std::uint64_t events() const { return events_; }
  /// Whether the last byte was the end of a line; also true if there was no byte.
  bool is_at_line() const { return line_is_empty_; }

 private:
  static constexpr std::size_t kHead = 32;

  void begin_or_go_on(std::string_view line);
  bool end_line(Found& found, std::size_t end);
  bool head_names_error() const;

  std::uint64_t events_ = 0;
  std::array<char, kHead> head_{};  // of the line
  std::uint8_t head_size_ = 0;
  bool line_is_empty_ = true;
  bool line_is_comment_ = false;
  bool pending_ = false;     // an event has begun
  bool is_suspect_ = false;  // it may report an error
  bool after_return_ = false;
  bool boundary_at_return_ = false;
};

}  // namespace lastcall::relay
