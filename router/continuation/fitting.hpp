// Decides whether the rest of an answer fits into the rest of its worker's time.
//
// Rules:
//  1. The request limits how much can follow; an answer without such a limit does not fit.
//  2. The answer fits while the largest possible rest, at the leg's pace so far, takes at most
//     three quarters of the time without kForAMove: thus it becomes clear that the answer does not
//     fit while there is still time to move it.
//  3. While no token arrives, the pace decreases.
//
// Pure: time is an argument. No thread rule. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "router/continuation/token_count.hpp"

namespace lastcall::router::continuation {

using Time = std::chrono::milliseconds;

/// The point at which a leg began to send text, from which its pace is computed.
struct Pace {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  bool is_known() const { return moves != kNone; }

  Time since{};                 // time of its first text
  Tokens made = 0;              // tokens of the answer at that time
  std::uint32_t moves = kNone;  // moves before this leg; kNone: no leg has sent any text
};

struct Stretch {
  std::uint64_t made = 0;             // tokens that the answer has now
  std::optional<std::uint64_t> most;  // largest number of tokens that it can have
  Time now{};
  Time cut_at{};
};

inline constexpr Time kForAMove{500};

bool fits(Pace const& pace, Stretch const& left);
/// The time from which it no longer fits if no further token arrives; not before `now`, nor after
/// `cut_at`.
Time fits_until(Pace const& pace, Stretch const& left);

}  // namespace lastcall::router::continuation
