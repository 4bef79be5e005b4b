// A stream of events on its way to a client. It sends only whole events, so that it can be cut
// between two of them.
//
// Rules:
//  1. The bytes that go out end at a boundary of events; the start of an event is held back until
//     its end has come. An event of more than kMaxHeldEvent bytes is passed on as it comes. The
//     stream is torn until the end of that event: it cannot be cut in a way that its client
//     understands.
//  2. Any split of the bytes delivers the same events.
//  3. The number of its tokens is taken from the last whole events, if the engine counts in each of
//     them. Only the end of what was read is examined, so a count may be missed until the next one
//     comes.
//
// Pure, no thread rule. Source: docs/ingress.md, 'Streams that are cut'; event_scanner.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/event_scanner.hpp"

namespace lastcall::relay {

class EventStream {
 public:
  static constexpr std::size_t kMaxHeldEvent = std::size_t{64} * 1024;

  enum class At : std::uint8_t {
    boundary,  // the client has only whole events
    torn,      // the client has a part of an event
  };

  EventScanner::Found scan(std::string_view payload) {
    EventScanner::Found const found = scanner_.scan(payload);
    note_tokens(payload.substr(0, found.boundary));
    return found;
  }
  std::uint64_t events() const { return scanner_.events(); }
  /// The number of tokens that the engine reports (`completion_tokens` of a usage).
  std::optional<std::uint64_t> tokens() const { return tokens_; }

  /// The bytes to send for a payload that was scanned: first `held`, then `fresh`. `held` is valid
  /// until settle().
  struct Pieces {
    std::string_view held;  // what was held back before
    std::string_view fresh;
    bool has_whole_events = false;
  };
  /// Returns the bytes for the part up to the last boundary.
  Pieces whole(std::string_view payload, std::size_t boundary);
  /// Returns the bytes for the part after it; usually they are held back, and nothing is sent yet.
  Pieces rest(std::string_view payload, std::size_t boundary);
  /// Call it after each of the two: what was sent is no longer held.
  void settle() { std::string().swap(part_); }

  At at() const { return at_; }
  /// The start of an event that is held back.
  std::string const& part() const { return part_; }

  /// Whether the client has received what clients of OpenAI's interface treat as the end.
  bool has_sent_done() const { return has_sent_done_; }

  /// Takes note of the last bytes of a body that ends with its connection.
  void note_last_words(std::string_view payload);
  /// Whether it holds what clients of OpenAI's interface treat as the end.
  bool has_done_line() const;
  /// Whether the stream ended with a whole line; otherwise it was cut.
  bool ends_with_a_line() const { return scanner_.is_at_line() || has_done_line(); }

 private:
  void note_tokens(std::string_view whole_events);
  bool ends_with_done(std::string_view fresh) const;

  EventScanner scanner_;
  At at_ = At::boundary;
  bool has_sent_done_ = false;
  std::uint8_t done_size_ = 0;  // of `[DONE]` and its line ends, as far as the last words have them
  std::string part_;
  std::optional<std::uint64_t> tokens_;
};

}  // namespace lastcall::relay
