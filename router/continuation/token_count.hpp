// The known number of tokens of an answer, over all of its legs.
//
// Rule: tokens that were not reported are estimated by the events with text, and the result is
// marked as an estimate. Values only, no thread rule. Source: docs/continuation.md, 'Limits of
// tokens'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lastcall::router::continuation {

class TokenCount {
 public:
  /// Call it after an event with text, with the leg's count so far, if known.
  void note_text(std::optional<std::uint64_t> of_leg) {
    ++events_;
    known_ = of_leg ? std::optional(kept_ + *of_leg) : std::nullopt;
  }
  std::optional<std::uint64_t> known() const { return known_; }
  std::uint64_t about() const { return known_.value_or(kept_ + events_); }
  /// Tokens of earlier legs whose ids are not in this record any more.
  std::uint64_t kept() const { return kept_; }
  /// The approximate number that is not part of the recorded prompt.
  std::uint64_t about_since_prompt() const { return about() - in_prompt_; }

  /// A leg continues whose prompt, if `is_known`, contains all tokens so far.
  void begin_leg_by_text(bool has_ids) {
    kept_ = about();
    known_ = known_ ? std::optional(kept_) : std::nullopt;
    in_prompt_ = has_ids ? kept_ : in_prompt_;
    events_ = 0;
  }
  void begin_leg_by_ids(std::uint64_t kept_ids) {
    known_ = kept_ + kept_ids;
    events_ = 0;
  }

 private:
  std::uint64_t kept_ = 0;
  std::uint64_t in_prompt_ = 0;
  std::uint64_t events_ = 0;
  std::optional<std::uint64_t> known_ = 0;
};

}  // namespace lastcall::router::continuation
