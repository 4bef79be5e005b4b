// Measures how long the canaries of an engine have had no answer at all, and how long none with a
// body.
//
// Rules:
//  1. Silence counts from the first canary that got no answer.
//  2. A 200 without a body counts as silence, because a client that waits for tokens gets none.
//     That silence lasts until an answer of another kind comes. It is never fatal by itself: the
//     server does answer, and a restart would not repair a server that is configured to answer with
//     nothing.
//
// Values only, owned by the core's thread. Source: specification, 'Canary'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

class CanarySilence {
 public:
  enum class Answer : std::uint8_t {
    proof,     // a token
    unproven,  // it was withdrawn or withheld
    refused,   // any other answer; the next request would be refused, too
    empty,     // 200 and no body
  };

  void sent(Instant now) { unanswered_since_ = unanswered_since_.value_or(now); }
  void answered(Instant now, Answer answer) {
    unanswered_since_.reset();
    empty_since_ =
        answer == Answer::empty ? std::optional(empty_since_.value_or(now)) : std::nullopt;
  }
  /// The supervisor was not running, so the wait for pending canaries starts again.
  void restart_silence(Instant now) {
    unanswered_since_ = unanswered_since_ ? std::optional(now) : std::nullopt;
  }

  /// The time since which a canary has been unanswered.
  std::optional<Instant> unanswered_since() const { return unanswered_since_; }
  /// The time since which no canary was answered with a body.
  std::optional<Instant> since() const { return earlier_of(unanswered_since_, empty_since_); }
  bool is_empty() const { return empty_since_.has_value(); }

 private:
  std::optional<Instant> unanswered_since_;
  std::optional<Instant> empty_since_;
};

}  // namespace lastcall::lifecycle
