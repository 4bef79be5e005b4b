// The known number of tokens of an answer, over all of its legs.
//
// Rules:
//  1. The number of tokens that were not reported is estimated by the number of events with text,
//     and the result is marked as an estimate.
//  2. A record is kept as long as its answer runs, so its numbers take few bytes: no answer has
//     2^32 tokens, whatever its engine reports.
//
// Values only, no thread rule. Source: docs/continuation.md, 'What continues'.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace lastcall::router::continuation {

/// A number of tokens in a record.
using Tokens = std::uint32_t;

inline constexpr Tokens kMostTokens = std::numeric_limits<Tokens>::max() - 1;

constexpr Tokens as_tokens(std::uint64_t number) {
  return static_cast<Tokens>(std::min<std::uint64_t>(number, kMostTokens));
}

/// A number of tokens that may be absent. Records have several, and this is half as large as
/// std::optional.
class MaybeTokens {
 public:
  constexpr MaybeTokens() = default;
  constexpr MaybeTokens(std::optional<Tokens> number) : number_(number.value_or(kNone)) {}
  constexpr MaybeTokens(Tokens number) : number_(as_tokens(number)) {}

  constexpr bool has_value() const { return number_ != kNone; }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr Tokens operator*() const { return number_; }
  constexpr std::optional<std::uint64_t> get() const {
    return has_value() ? std::optional<std::uint64_t>(number_) : std::nullopt;
  }

 private:
  static constexpr Tokens kNone = kMostTokens + 1;

  Tokens number_ = kNone;
};

class TokenCount {
 public:
  /// Must be called after an event with text. `of_leg` is the leg's count so far, if known.
  void note_text(std::optional<std::uint64_t> of_leg) {
    ++events_;
    known_ =
        of_leg ? MaybeTokens(as_tokens(std::uint64_t{kept_} + as_tokens(*of_leg))) : MaybeTokens();
  }
  std::optional<std::uint64_t> known() const { return known_.get(); }
  std::uint64_t about() const { return known_ ? *known_ : std::uint64_t{kept_} + events_; }
  /// Tokens of earlier legs whose ids are no longer in this record.
  std::uint64_t kept() const { return kept_; }
  /// The approximate number of tokens that are not part of the recorded prompt.
  std::uint64_t about_since_prompt() const { return about() - in_prompt_; }

  /// A leg that continues by text begins. `has_ids`: the ids of its prompt, which contains all
  /// tokens so far, are known.
  void begin_leg_by_text(bool has_ids) {
    kept_ = as_tokens(about());
    known_ = known_ ? MaybeTokens(kept_) : MaybeTokens();
    in_prompt_ = has_ids ? kept_ : in_prompt_;
    events_ = 0;
  }
  void begin_leg_by_ids(std::uint64_t kept_ids) {
    known_ = as_tokens(kept_ + kept_ids);
    events_ = 0;
  }

 private:
  Tokens kept_ = 0;
  Tokens in_prompt_ = 0;
  Tokens events_ = 0;
  MaybeTokens known_ = Tokens{0};
};

}  // namespace lastcall::router::continuation
