#include "shim/state_table.hpp"

#include <set>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

constexpr State kStates[] = {State::waiting, State::running, State::holding, State::stopping,
                             State::killing, State::ended,   State::leaving};
constexpr Event kEvents[] = {Event::start_order,  Event::start_due,   Event::stop_signal,
                             Event::stop_phase,   Event::stop_undone, Event::term_order,
                             Event::term_due,     Event::kill_order,  Event::kill_due,
                             Event::engine_ended, Event::exit_order,  Event::leave_due};

State after(State state, Event event) {
  return state_after(state, action_for(state, event));
}

TEST(StateTable, States_only_rise_but_for_a_drain_that_was_undone) {
  for (State const state : kStates) {
    for (Event const event : kEvents) {
      bool const undone = state == State::holding && event == Event::stop_undone;
      EXPECT_TRUE(after(state, event) >= state || undone)
          << static_cast<int>(state) << " " << static_cast<int>(event);
    }
  }
  EXPECT_EQ(after(State::holding, Event::stop_undone), State::running);
}

TEST(StateTable, Engine_is_started_only_where_it_never_was) {
  for (State const state : kStates) {
    for (Event const event : kEvents) {
      bool const starts = action_for(state, event) == Action::start;
      bool const is_order = event == Event::start_order || event == Event::start_due;
      EXPECT_EQ(starts, state == State::waiting && is_order);
    }
  }
}

TEST(StateTable, Engine_gets_at_most_one_stop_signal) {
  for (State const state : kStates) {
    for (Event const event : kEvents) {
      if (action_for(state, event) == Action::stop) {
        EXPECT_TRUE(state == State::running || state == State::holding);
        EXPECT_EQ(after(state, event), State::stopping);
      }
    }
  }
}

TEST(StateTable, Order_to_exit_ends_every_state) {
  for (State const state : kStates) {
    EXPECT_EQ(after(state, Event::exit_order), State::leaving);
  }
}

TEST(StateTable, Input_from_outside_is_never_impossible) {
  for (State const state : kStates) {
    for (Event const event :
         {Event::start_order, Event::stop_signal, Event::stop_phase, Event::stop_undone,
          Event::term_order, Event::kill_order, Event::exit_order}) {
      EXPECT_NE(action_for(state, event), Action::never)
          << static_cast<int>(state) << " " << static_cast<int>(event);
    }
  }
}

TEST(StateTable, Nothing_happens_after_the_exit_code_is_fixed_but_a_late_reap) {
  std::set<Action> seen;
  for (Event const event : kEvents) {
    EXPECT_EQ(after(State::leaving, event), State::leaving);
    seen.insert(action_for(State::leaving, event));
  }
  EXPECT_EQ(seen,
            (std::set<Action>{Action::settle, Action::already, Action::too_late, Action::never}));
}

TEST(StateTable, Stop_before_the_start_ends_without_one) {
  EXPECT_EQ(action_for(State::waiting, Event::stop_signal), Action::leave);
  EXPECT_EQ(action_for(State::waiting, Event::stop_phase), Action::stand_down);
}

}  // namespace
}  // namespace lastcall::shim
