// The tables of the core's machines: every cell states what it does, or why it does nothing.
#include <string_view>

#include <gtest/gtest.h>

#include "core/own_end.hpp"
#include "core/phase_table.hpp"
#include "core/registrations.hpp"
#include "core/shim_link.hpp"

namespace lastcall::lifecycle {
namespace {

/// Every cell that does not move states why, and stays where it is.
template <typename Table>
constexpr bool is_complete(Table const& table) {
  std::size_t state = 0;
  for (auto const& row : table) {
    for (auto const& cell : row) {
      bool const stays = static_cast<std::size_t>(cell.to) == state;
      bool const explains = !std::string_view(cell.why).empty();
      if (cell.kind != CellKind::move && (!stays || !explains)) {
        return false;
      }
    }
    ++state;
  }
  return true;
}

/// From the first state every other one can be reached.
template <typename State, typename Event, std::size_t kStates, std::size_t kEvents>
constexpr bool is_connected(StateTable<State, Event, kStates, kEvents> const& table) {
  std::array<bool, kStates> reached{true};
  for (std::size_t round = 0; round < kStates; ++round) {
    for (std::size_t state = 0; state < kStates; ++state) {
      for (auto const& cell : table[state]) {
        if (reached[state] && cell.kind == CellKind::move) {
          reached[static_cast<std::size_t>(cell.to)] = true;
        }
      }
    }
  }
  return std::all_of(reached.begin(), reached.end(), [](bool is) { return is; });
}

static_assert(is_complete(kPhaseTable));
static_assert(is_complete(kRegistryTable));
static_assert(is_complete(kShimTable));
static_assert(is_complete(kRestartTable));
static_assert(is_connected<Phase, PhaseEvent>(kPhaseTable));
static_assert(is_connected<RegistryRecord::State, RegistryEvent>(kRegistryTable));
static_assert(is_connected<ShimState, ShimEvent>(kShimTable));
static_assert(is_connected<RestartStage, RestartEvent>(kRestartTable));

constexpr bool restart_stages_only_rise() {
  std::size_t state = 0;
  for (auto const& row : kRestartTable) {
    for (auto const& cell : row) {
      bool const rises = static_cast<std::size_t>(cell.to) > state;
      bool const is_taken_over = cell.to == RestartStage::none;
      if (cell.kind == CellKind::move && !rises && !is_taken_over) {
        return false;
      }
    }
    ++state;
  }
  return true;
}
static_assert(restart_stages_only_rise());

TEST(StateTable, An_impossible_event_is_a_broken_invariant) {
  constexpr StateTable<ShimState, ShimEvent, 1, 1> kTable{
      {{impossible(ShimState::never, "nothing of the kind happens")}}};
  EXPECT_EXIT((cell_of<ShimState, ShimEvent>(kTable, ShimState::never, ShimEvent::hello)),
              testing::ExitedWithCode(1), "broken invariant");
}

}  // namespace
}  // namespace lastcall::lifecycle
