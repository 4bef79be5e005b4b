// Whether the engine was ordered to rest: to release its memory, or to pause.
//
// Rules:
//  1. It rests from the order on, whatever the engine answers, until it was ordered to go on and a
//     byte of a user's request has moved since: it may be woken in parts, and a request that
//     reaches an engine without its memory may be its end.
//  2. Bytes that move kLastBytes after the order show that it does not rest: it has refused the
//     order, or was ordered to go on past the ingress.
//  3. Meanwhile it is sent no request of our own, and work in it that does not move is not judged.
//
// Values only, owned by the core's thread. Source: specification, 'Canary'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

/// Work that was under way when it was ordered to rest is cut or frozen by then.
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
