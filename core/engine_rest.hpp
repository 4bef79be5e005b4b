// Tracks whether the engine was put to sleep, that is, was ordered to release its memory or to
// pause.
//
// Rules:
//  1. It sleeps from that order on, whatever the engine answers, until it was woken up and a byte
//     of a user's request has moved since. It may be woken in parts, and a request to an engine
//     without its memory may end it.
//  2. If bytes still move kLastBytes after the order, the engine does not sleep: it has refused the
//     order, or was woken by a request that did not pass the ingress.
//  3. Meanwhile lastcall sends it no request of its own, and does not judge work that stalls.
//
// Values only, owned by the core's thread. Source: specification, 'Canary'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

/// By then, work that was under way when the order came is cut or frozen.
inline constexpr Duration kLastBytes{5'000};

class EngineRest {
 public:
  enum class State : std::uint8_t { none, rests, wakes };

  void begins(Instant now) {
    state_ = State::rests;
    since_ = now;
  }
  void ends() { state_ = state_ == State::none ? State::none : State::wakes; }
  /// A byte of a user's request moved.
  void moved(Instant now) {
    bool const is_awake = state_ == State::wakes || now >= since_ + kLastBytes;
    state_ = is_awake ? State::none : state_;
  }

  State state() const { return state_; }
  bool rests() const { return state_ == State::rests; }
  bool may_be_asked() const { return state_ == State::none; }
  std::optional<Instant> since() const { return rests() ? std::optional(since_) : std::nullopt; }

 private:
  State state_ = State::none;
  Instant since_{};
};

}  // namespace lastcall::lifecycle
