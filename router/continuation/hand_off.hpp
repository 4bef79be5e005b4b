// Early hand-off: while a draining worker still answers, another one takes the answer over.
//
// Rules:
//  1. The cut is where ids and text are level. What the old leg sends after it is held unchanged,
//     at most kMostHeld bytes.
//  2. The held bytes are dropped when the new leg is proven. They are passed on as usual when it
//     fails, when they are too many, or when the old leg has sent everything, so that nothing is
//     lost.
//  3. No tokens of two legs are compared: they differ at any temperature above 0.
//
// Pure, no thread rule. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/moves.hpp"
#include "router/continuation/continuation.hpp"

namespace lastcall::router::continuation {

enum class HandOffState : std::uint8_t { idle, holding, moved, released };
enum class HandOffEvent : std::uint8_t { cut, proven, release };

inline constexpr relay::Moves<HandOffState, HandOffEvent, 4, 3> kHandOffMoves{{{
    // cut, proven, release
    {HandOffState::holding, relay::kNever, relay::kNever},
    {relay::kNever, HandOffState::moved, HandOffState::released},
    {HandOffState::holding, relay::kNever, relay::kNever},
    {HandOffState::holding, relay::kNever, relay::kNever},
}}};

class HandOff {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} * 1024;

  /// `answer` outlives this.
  explicit HandOff(Continuation& answer) : answer_(answer) {}

  /// The body of the new leg, if the answer is level now; then call begin_leg() of the answer.
  std::optional<std::string> cut(Mode mode);
  /// The same for a single token, which is dropped.
  std::optional<std::string> warm(Mode mode);
  HandOffState state() const { return state_; }

  /// Payload of the legs, as long as the state is `holding`. After `released` the new leg is of no
  /// use, and what was received is that of the old one; after `moved` the old one is.
  Received receive_old(std::string_view payload, std::string& out);
  Received receive_new(std::string_view payload, std::string& out);
  Received old_ended(std::string& out);
  Received new_ended(std::string& out);
  /// The new leg was refused or is late.
  Received release(std::string& out);

 private:
  Continuation& answer_;
  Continuation::Parked old_;
  std::string held_;
  bool old_has_ended_ = false;
  HandOffState state_ = HandOffState::idle;
};

}  // namespace lastcall::router::continuation
