// An engine that behaves as docs/continuation.md describes: several ids an event, characters split
// over ids, text held back for stop strings and parsers, samples that differ each time; workers
// that ignore a continuation, leak the prompt, or go on one id too early; and templates that drop
// where the reasoning of an answer ended.
//
// Pure, no thread rule. Source: docs/continuation.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "router/continuation/bodies.hpp"
#include "router/continuation/chunk.hpp"

namespace lastcall::router::simulation {

using continuation::Mode;
using continuation::TokenIds;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::uint64_t below(std::uint64_t count) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_ % count;
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

struct Case {
  bool is_chat = false;
  bool reasons = false;  // the answer begins with reasoning, of which there may be none
  /// By text the end of the reasoning gets lost, and the parser takes what follows for reasoning.
  bool reopens = false;
  bool has_tools = false;
  bool keeps_stop = false;
  bool wants_usage = false;
  bool wants_ids = false;
  std::string stop;  // empty: none
  std::uint64_t max_tokens = 20;
  std::uint64_t ids_an_event = 1;  // at most

  std::string body() const;
};

enum class Lie : std::uint8_t {
  none,
  starts_over,  // it ignores the continuation, and reports it
  silent,       // it ignores the continuation, and reports nothing
  leaks,        // the first text is the whole prompt's
  one_less,     // it goes on after one id less
};

/// What a client would have seen of a run of tokens.
struct Texts {
  std::string reasoning;
  std::string content;
};
Texts texts_of(Case const& what, TokenIds const& ids);

/// How many bytes at the end are the start of a character.
std::size_t pending(std::string_view text);

struct Leg {
  unsigned status = 200;
  std::vector<std::string> events;
  TokenIds answer;        // prompt beyond the client's own, and all that is generated
  std::size_t given = 0;  // of it, before this leg
  bool is_lie = false;
  bool keeps_stop = false;  // its engine takes include_stop_str_in_output, and was asked for it
  std::string sent{};       // of the events, as far as it got
  bool ends_early = false;  // in order, with [DONE] and without a finish
};

/// `knows`: what the worker takes and reports.
Leg generate(Case const& what, std::string const& body, Mode knows, Lie lie, std::string const& id,
             Dice& dice);

}  // namespace lastcall::router::simulation
