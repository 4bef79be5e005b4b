// Tables of legal moves, which have the next state for each state and event.
//
// Rules:
//  1. Every cell is written out: a state, or kNever for an event that cannot happen there.
//  2. A machine changes its state through its table alone; a move that cannot happen ends the
//     process, because no byte from outside can cause one.
//
// Pure, no thread rule.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/check.hpp"

namespace lastcall::relay {

/// Enumerators of both count from 0 without gaps.
template <typename State, typename Happening, std::size_t kStates, std::size_t kEvents>
struct Moves {
  using Row = std::array<std::optional<State>, kEvents>;
  std::array<Row, kStates> rows;

  constexpr std::optional<State> after(State state, Happening happening) const {
    return rows[static_cast<std::size_t>(state)][static_cast<std::size_t>(happening)];
  }
  /// The only way to write a state.
  void apply(State& state, Happening happening) const {
    std::optional<State> const next = after(state, happening);
    LC_ASSERT(next.has_value());
    state = *next;
  }
};

inline constexpr std::nullopt_t kNever = std::nullopt;

}  // namespace lastcall::relay
