// Decides whether a leg continues where the one before it ended, or starts over; nothing from the
// leg reaches the client before that is known.
//
// Rules:
//  1. By ids: the prompt ids that the worker reports must be those that were sent; if it reports
//     none, its count of the prompt's tokens must be the same.
//  2. By text: the prompt ids must be those of the first leg's prompt and of the delivered answer,
//     or begin with that prompt and be longer by about as many as were delivered; if the worker
//     reports none, its count of the prompt's tokens must have risen by about that number. An
//     engine that holds text back for a stop string has counted tokens that were not delivered.
//  3. The first text must be that of the ids reported with it or, by ids, that of the tokens
//     counted. A detokenizer whose prompt ends inside a character emits the text of the whole
//     prompt first, and what was delivered is a part of it. So the first text may not contain the
//     first bytes of what was delivered, if it also contains the end of the client's prompt or has
//     more than kMostBytesAnId bytes per id. Without them it may be one long token, as of many
//     spaces or dashes; more than kLongestToken bytes per id are no token.
//     If too little was delivered, kMostBytesAnId alone decides.
//  4. By text: if the answer's content has begun, a leg that reasons first does not continue it,
//     because some templates drop the end of the reasoning, and a parser takes everything after
//     that for reasoning.
//  5. A leg that sends text, or more than kMostUnprovenIds ids, before it has reported enough is
//     unproven, and is treated as wrong. If it has reported the right prompt, it may make a long
//     call whose parser holds everything back: kMostEarlyIds.
//
// Pure, no thread rule. Source: docs/continuation.md, 'Verified'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "router/continuation/chunk.hpp"

namespace lastcall::router::continuation {

enum class Way : std::uint8_t {
  whole,  // the same request is sent again, because nothing had been sent to the client
  by_ids,
  by_text,
};

enum class Verdict : std::uint8_t {
  open,      // nothing that could decide it has arrived
  proven,    // it continues, and this chunk is the first with text
  unproven,  // it sent text without reporting enough
  other_prompt,
  leaks_prompt,
  reasons,  // it reasons although content was given to it as text
};

/// The name for the log and for the label of a metric.
constexpr std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"open",         "proven",       "unproven",
                                                   "other_prompt", "leaks_prompt", "reasons"};
  return kNames[static_cast<std::size_t>(verdict)];
}

class Verifier {
 public:
  static constexpr std::size_t kMostBytesAnId = 32;
  static constexpr std::size_t kLongestToken = 256;
  static constexpr std::size_t kMostUnprovenIds = 4096;
  static constexpr std::size_t kMostEarlyIds = std::size_t{256} * 1024;

  struct Expected {
    Way way = Way::whole;
    std::optional<TokenIds> prompt_ids;  // by ids: all that were sent; by text: the first leg's
    std::optional<TokenIds> exactly;     // by text: prompt_ids and those delivered, if known
    std::optional<std::uint64_t> prompt_count;  // count of the first leg
    std::uint64_t since_ids = 0;    // approximate number of tokens delivered after prompt_ids
    std::uint64_t since_count = 0;  // the same after the first leg's prompt
    std::uint64_t held = 0;         // most of these tokens whose text may have been held back
    std::string prompt_end;         // the last bytes of the prompt's text
    std::string delivered_begin;    // the first bytes of the delivered content; may be empty
  };
  explicit Verifier(Expected expected) : expected_(std::move(expected)) {}

  Verdict receive(Chunk const& chunk);
  Way way() const { return expected_.way; }
  /// The prompt ids that the worker reported.
  std::optional<TokenIds>& reported() { return reported_; }
  /// The ids that were reported before the first text.
  TokenIds const& early_ids() const { return early_ids_; }

 private:
  bool fits(TokenIds const& reported) const;
  bool fits(std::uint64_t count) const;
  bool is_about(std::uint64_t rise, std::uint64_t delivered) const;
  bool leaks(Chunk const& chunk) const;

  Expected expected_;
  std::optional<TokenIds> reported_;
  TokenIds early_ids_;
  Verdict so_far_ = Verdict::open;
};

}  // namespace lastcall::router::continuation
