#include "shim/state_table.hpp"

namespace lastcall::shim {
namespace {

using enum Action;

// Columns:
//   start_order start_due  stop_signal stop_phase stop_undone term_order
//   term_due    kill_order kill_due    engine_ended exit_order leave_due
constexpr Action kTable[kStateCount][kEventCount] = {
    // waiting: nothing runs, so a stop signal ends the shim; a stop that began elsewhere has its
    // own code.
    {start, start, leave, stand_down, no_stop, no_stop,  //
     never, no_stop, never, never, leave, never},
    // running: an order to signal does not need a stop signal at the shim first (`drain --exit`,
    // fatal).
    {already, never, hold, hold, no_stop, stop,  //
     never, kill, never, settle, leave, never},
    // holding: a second stop signal is reported, and changes nothing.
    {already, never, already, already, resume, stop,  //
     stop, kill, never, settle, leave, never},
    // stopping: the engine gets only one stop signal, because a second one aborts cleanups.
    {already, never, already, already, too_late, already,  //
     never, kill, kill, settle, leave, never},
    // killing: the deadline ends the shim, even if a process cannot be killed.
    {already, never, already, already, too_late, too_late,  //
     never, already, never, settle, leave, leave},
    // ended: KILL still reaches the rest of the tree.
    {already, never, already, already, too_late, too_late,  //
     never, kill, never, never, leave, leave},
    // leaving: no order changes the code any more; a late reap of the main process is recorded,
    // because without an order it decides the code.
    {already, never, already, already, too_late, too_late,  //
     never, already, never, settle, already, never},
};

}  // namespace

Action action_for(State state, Event event) {
  return kTable[static_cast<int>(state)][static_cast<int>(event)];
}

State state_after(State before, Action action) {
  switch (action) {
    case start:
    case resume:
      return State::running;
    case hold:
      return State::holding;
    case stop:
      return State::stopping;
    case kill:
      return before == State::ended ? State::ended : State::killing;
    case stand_down:
      return State::ended;
    case settle:
      return before == State::leaving ? State::leaving : State::ended;
    case leave:
      return State::leaving;
    case already:
    case too_late:
    case no_stop:
    case never:
      return before;
  }
  return before;
}

}  // namespace lastcall::shim
