// A state machine as a table with a row for each state and a column for each event; every cell is
// written out.
//
// Rules:
//  1. A cell moves to a state, stays with a reason, or is impossible; there is no other default.
//  2. An event in a state whose cell is impossible is a bug.
//  3. Tests and docs/architecture.md use the same tables, so neither can differ from them.
//
// Values only, no thread rule.
#pragma once

#include <array>
#include <cstddef>

#include "core/check.hpp"

namespace lastcall::lifecycle {

enum class CellKind : unsigned char { move, ignore, impossible };

template <typename State>
struct Cell {
  CellKind kind = CellKind::impossible;
  State to{};
  char const* why = "";
};

template <typename State>
constexpr Cell<State> move_to(State to, char const* why = "") {
  return {CellKind::move, to, why};
}
template <typename State>
constexpr Cell<State> ignored(State stays, char const* why) {
  return {CellKind::ignore, stays, why};
}
template <typename State>
constexpr Cell<State> impossible(State stays, char const* why) {
  return {CellKind::impossible, stays, why};
}

template <typename State, typename Event, std::size_t kStates, std::size_t kEvents>
using StateTable = std::array<std::array<Cell<State>, kEvents>, kStates>;

/// The table's cell for an event in a state; asserts that it can happen there.
template <typename State, typename Event, std::size_t kStates, std::size_t kEvents>
constexpr Cell<State> const& cell_of(StateTable<State, Event, kStates, kEvents> const& table,
                                     State state, Event event) {
  Cell<State> const& cell = table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  LC_ASSERT(cell.kind != CellKind::impossible);
  return cell;
}

}  // namespace lastcall::lifecycle
