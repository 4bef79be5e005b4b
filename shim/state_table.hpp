// The behaviour of the shim as a table of seven states and twelve events; every cell is written
// out.
//
//   waiting   the engine has not been started
//   running   it runs
//   holding   a stop has begun, and the engine knows nothing of it: it drains
//   stopping  its main process got the stop signal
//   killing   it got KILL, and so did all its descendants
//   ended     its main process was reaped; the supervisor has the word
//   leaving   what is left of the tree is being killed; an order to exit changes no code any more
//
// Rules: 1. states only rise, except for a drain that was undone (holding -> running); 2. the
// engine is started at most once; 3. an event that can come late (orders and facts cross on the
// wire) is ignored, and its cell is `too_late` or `already`; 4. `never` is a bug, which is logged
// and survived. Pure values. Source: specification, 'Shim'; specification, 'Causes of a stop'.
#pragma once

namespace lastcall::shim {

enum class State : unsigned char { waiting, running, holding, stopping, killing, ended, leaving };
inline constexpr int kStateCount = 7;

enum class Event : unsigned char {
  start_order,   // `engine.start`
  start_due,     // no `engine.start` within --supervisor-timeout
  stop_signal,   // TERM, INT, QUIT at the shim
  stop_phase,    // `phase` with a deadline: a stop that began elsewhere
  stop_undone,   // `phase` is serving again
  term_order,    // `engine.signal` with a stop signal
  term_due,      // a stop signal is due by the deadline rules
  kill_order,    // `engine.signal` with KILL
  kill_due,      // KILL is due by the deadline rules
  engine_ended,  // the main process was reaped
  exit_order,    // `exit`
  leave_due,     // no `exit` in time, or the deadline itself
};
inline constexpr int kEventCount = 12;

enum class Action : unsigned char {
  start,       // -> running: spawn the engine
  hold,        // -> holding: fix the beginning of the stop
  resume,      // -> running: the drain was undone
  stop,        // -> stopping: stop signal and CONT to the main process
  kill,        // -> killing: KILL to all descendants
  settle,      // -> ended: remember the status, notify the supervisor
  stand_down,  // waiting -> ended: nothing will be started, the supervisor decides
  leave,       // -> leaving: begin the end
  already,     // ignored: it was done before, because the order is idempotent
  too_late,    // ignored: the order crossed the fact that made it pointless
  no_stop,     // ignored: nothing of that kind is under way
  never,       // impossible: logged, ignored
};

State state_after(State before, Action action);
Action action_for(State state, Event event);

}  // namespace lastcall::shim
