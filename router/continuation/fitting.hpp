// Whether the rest of an answer fits into the rest of its worker's time.
//
// Rules:
//  1. The request limits how much can follow; an answer without such a limit does not fit.
//  2. It fits while the most that can come, at the leg's pace so far, takes three quarters of the
//     time without kForAMove: so it becomes clear that it does not fit while there is still time
//     for a move.
//  3. Silence slows a pace down.
//
// Pure: time is an argument. No thread rule. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "router/continuation/token_count.hpp"

namespace lastcall::router::continuation {

using Time = std::chrono::milliseconds;

/// The point at which a leg began to send text.
struct Pace {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  bool is_known() const { return moves != kNone; }

  Time since{};                 // its first text
  Tokens made = 0;              // of the answer then
  std::uint32_t moves = kNone;  // before the leg; kNone: no leg has sent any
};

struct Stretch {
  std::uint64_t made = 0;             // tokens of the answer now
  std::optional<std::uint64_t> most;  // that it can have
  Time now{};
  Time cut_at{};
};

inline constexpr Time kForAMove{500};

bool fits(Pace const& pace, Stretch const& left);
/// The time at which it no longer fits if no token comes; not before `now`, nor after `cut_at`.
Time fits_until(Pace const& pace, Stretch const& left);

}  // namespace lastcall::router::continuation
