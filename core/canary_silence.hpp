// The answer that the canaries of an engine wait for: any answer, or one that has more than a
// status in it.
//
// Rules:
//  1. Silence counts from the first canary that nothing answered.
//  2. A 200 without a body is a promise that was not kept: for a client that waits for tokens it is
//     silence, and it lasts until an answer of another kind. It is never fatal by itself: the
//     server does answer, and a restart would not mend a server that was configured to answer
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
    refused,   // anything else: it will be the next time, too
    empty,     // 200 and no body
  };

  void sent(Instant now) { unanswered_since_ = unanswered_since_.value_or(now); }
  void answered(Instant now, Answer answer) {
    unanswered_since_.reset();
    empty_since_ =
        answer == Answer::empty ? std::optional(empty_since_.value_or(now)) : std::nullopt;
  }
  /// We were not running: the wait for pending canaries starts again.
  void listen_anew(Instant now) {
    unanswered_since_ = unanswered_since_ ? std::optional(now) : std::nullopt;
  }

  /// Since when one is out that nothing answered.
  std::optional<Instant> unanswered_since() const { return unanswered_since_; }
  /// Since when nothing but emptiness came.
  std::optional<Instant> since() const { return earlier_of(unanswered_since_, empty_since_); }
  bool is_empty() const { return empty_since_.has_value(); }

 private:
  std::optional<Instant> unanswered_since_;
  std::optional<Instant> empty_since_;
};

}  // namespace lastcall::lifecycle
