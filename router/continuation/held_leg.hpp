// The old leg of an early hand-off (router/early_hand_off.hpp): what it sends after the cut is held
// until the new leg has proven that it continues.
//
// Rules:
//  1. The cut is made where ids and text are level. The bytes that the old leg sends after the cut
//     are held unchanged, but at most kMostHeld bytes.
//  2. The held bytes are dropped when the new leg is proven. They are passed on as usual when it
//     fails, when they are too many, or when the old leg has sent everything, so that nothing is
//     lost.
//  3. The tokens of the two legs are never compared: they differ at any temperature above 0.
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

enum class HeldLegState : std::uint8_t { idle, holding, moved, released };
enum class HeldLegEvent : std::uint8_t { cut, proven, release };

inline constexpr relay::Moves<HeldLegState, HeldLegEvent, 4, 3> kHeldLegMoves{{{
    // cut, proven, release
    {HeldLegState::holding, relay::kNever, relay::kNever},
    {relay::kNever, HeldLegState::moved, HeldLegState::released},
    {HeldLegState::holding, relay::kNever, relay::kNever},
    {HeldLegState::holding, relay::kNever, relay::kNever},
}}};

class HeldLeg {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} * 1024;

  /// `answer` outlives this.
  explicit HeldLeg(Continuation& answer) : answer_(answer) {}

  /// Makes the cut and returns the body of the new leg; absent if ids and text are not level now.
  /// After it, call begin_leg() of the answer.
  std::optional<std::string> cut(Mode mode);
  /// Returns the body of a request for a single token, which is dropped; absent under the same
  /// condition.
  std::optional<std::string> warm(Mode mode);
  HeldLegState state() const { return state_; }

  /// Receive the payload of the two legs while the state is `holding`. After `released` the new leg
  /// is of no use, and the result is that of the old leg; after `moved` the old leg is of no use.
  Received receive_old(std::string_view payload, std::string& out);
  Received receive_new(std::string_view payload, std::string& out);
  Received old_ended(std::string& out);
  /// Called when the new leg has ended, was refused or is late.
  Received release(std::string& out);

 private:
  /// Makes the body of the new leg, or one that only warms a cache; absent also if there is no
  /// memory for it.
  std::optional<std::string> next_body(Mode mode, bool warms);

  Continuation& answer_;
  Continuation::Parked old_;
  std::string held_;
  bool old_has_ended_ = false;
  HeldLegState state_ = HeldLegState::idle;
};

}  // namespace lastcall::router::continuation
