// Decides whether a leg continues where the one before it ended or starts over; nothing of it
// reaches the client before that is known.
//
// Rules:
//  1. By ids the prompt ids that the worker reports are those sent; if it reports none, its count
//     of the prompt's tokens is the same.
//  2. By text they are the first leg's prompt and the ids delivered, or begin with that prompt and
//     are longer by about as many; where it reports none, its count of the prompt rose by about
//     that.
//  3. The first text is that of the ids reported with it, or, by ids, of the tokens counted: one of
//     more than kMostBytesAnId bytes an id is the prompt's text, which a detokenizer gives out
//     after a prompt that ends inside a character.
//  4. By text the answer's content has begun, so a leg that reasons first does not continue it:
//     some templates drop the end of the reasoning, and a parser takes everything after that for
//     reasoning.
//  5. A leg that sends text before it has reported enough is unproven, and counts as wrong.
//
// Pure, no thread rule. Source: docs/continuation.md, 'Verified'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "router/continuation/chunk.hpp"

namespace lastcall::router::continuation {

enum class Way : std::uint8_t {
  whole,  // the same request, as nothing was sent
  by_ids,
  by_text,
};

enum class Verdict : std::uint8_t {
  open,      // nothing that could decide it has come
  proven,    // and this chunk is the first with text
  unproven,  // it sends text without a report
  other_prompt,
  leaks_prompt,
  reasons,  // after content that was given to it as text
};

/// For the log and the label of a metric.
std::string_view name(Verdict verdict);

class Verifier {
 public:
  static constexpr std::size_t kMostBytesAnId = 32;

  struct Expected {
    Way way = Way::whole;
    std::optional<TokenIds> prompt_ids;         // by ids: all sent; by text: the first leg's
    std::optional<TokenIds> exactly;            // by text: with those delivered, where known
    std::optional<std::uint64_t> prompt_count;  // of the first leg
    std::uint64_t since_ids = 0;                // tokens delivered after prompt_ids, about
    std::uint64_t since_count = 0;              // and after the first leg's prompt
    std::string prompt_end;                     // the last bytes of the prompt's text
  };
  explicit Verifier(Expected expected) : expected_(std::move(expected)) {}

  Verdict receive(Chunk const& chunk);
  Way way() const { return expected_.way; }
  /// The prompt that the worker reported.
  std::optional<TokenIds>& reported() { return reported_; }
  /// Those reported before the first text.
  TokenIds const& early_ids() const { return early_ids_; }

 private:
  bool fits(TokenIds const& reported) const;
  bool fits(std::uint64_t count) const;
  bool leaks(Chunk const& chunk) const;

  Expected expected_;
  std::optional<TokenIds> reported_;
  TokenIds early_ids_;
  Verdict so_far_ = Verdict::open;
};

}  // namespace lastcall::router::continuation
