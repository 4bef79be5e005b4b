// What the state table says, done.
#include <signal.h>

#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/shim.hpp"

namespace lastcall::shim {

void Shim::happen(Event event) {
  bool const refuses_start = event == Event::start_due && options_.required;
  if (refuses_start) {
    LogLine() << "no order to start the command came in time, and --required was given";
    exit_code_ = kExitFatal;
  }
  Action const action = refuses_start ? Action::leave : action_for(state_, event);
  state_ = state_after(state_, action);
  perform(action, event);
}

void Shim::perform(Action action, Event event) {
  switch (action) {
    case Action::start:
      return start_engine(event);
    case Action::resume:
      will_.forget();
      return clock_.forget();
    case Action::stop:
      return stop_engine(event);
    case Action::kill:
      if (event == Event::kill_due) {
        LogLine() << "the command is still there at its deadline: KILL";
      }
      engine_.note_kill();
      rest_.condemn();
      return kill_tree(service_.pid(), false);
    case Action::settle:
      return settle();
    case Action::stand_down:
      ended_at_ = now_;
      return;
    case Action::leave:
      return leave();
    case Action::never:
      LogLine() << "event " << static_cast<int>(event) << " is impossible in state "
                << static_cast<int>(state_) << ": this is a bug, and was ignored";
      return;
    case Action::hold:
    case Action::already:
    case Action::too_late:
    case Action::no_stop:
      return;
  }
}

void Shim::start_engine(Event event) {
  if (event == Event::start_due) {
    LogLine() << "no order to start the command came in time: starting it without";
  }
  int const error = engine_.start(launch_, now_);
  rest_.note_childless(false);
  revival_.began(now_);
  if (!service_.exists() && !options_.restarts) {
    launch_.forget_directory();
  }
  if (error != 0) {
    LogLine() << "cannot run " << options_.command[0] << ": " << error_text(error);
    EngineFacts failed = engine_.facts();  // as a shell would tell it: the supervisor can then end
    failed.ending = {.code = exec_failure_code(error), .signal = 0};
    failed.exited_at = now_;
    write_engine_exited(link_.out(), failed);
    return give_up(failed.ending.code);
  }
  if (options_.supervised()) {
    watch_.begin(now_, epoll_, engine_.pid());
  }
  write_engine_started(link_.out(), engine_.facts());
}

/// An engine that nobody supervises is for a supervisor that may still come, not for one that has
/// just said why it will not.
void Shim::refuse_start(Ending ending) {
  LogLine() << "the supervisor cannot run, and ended with code " << ending.code
            << ": the command is not started";
  service_.never_restart();
  give_up(ending.code);
}

void Shim::give_up(int code) {
  exit_code_ = code;
  state_ = State::leaving;
  leave();
}

void Shim::stop_engine(Event event) {
  if (event == Event::term_due) {
    LogLine() << "no order to stop the command came: TERM without";
    ordered_signal_ = options_.signals.for_order(SIGTERM);
  } else if (ordered_tree_) {
    signal_tree(ordered_signal_, service_.pid());
    signal_tree(SIGCONT, service_.pid());
    engine_.stop(0);
    return;
  }
  engine_.stop(ordered_signal_);
}

void Shim::settle() {
  EngineFacts const& engine = engine_.facts();
  ended_at_ = now_;
  stopping_at_end_ = clock_.running();
  rest_.look_anew();
  if (!options_.supervised()) {
    return;
  }
  bool const by_signal = engine.ending.signal != 0;
  LogLine() << "the command ended with " << (by_signal ? "signal " : "code ")
            << (by_signal ? engine.ending.signal : engine.ending.code)
            << (engine.oom ? ", after an OOM kill" : "") << (engine.ordered ? "" : ", unordered");
}

void Shim::leave() {
  leaving_since_ = now_;
  Standing const standing = link_.standing(now_);
  if (standing == Standing::never && service_.is_running()) {
    kill(service_.pid(), SIGTERM);  // it knows of no shim, and removes its sockets
  }
  service_may_end_ = exit_ordered_ || standing != Standing::gone;
  service_.never_restart();
  if (!handed_report_.is_empty()) {
    write_report(options_.termination_log, handed_report_.view());
  }
}

/// A stop that begins after the engine ended does not make its end a graceful one.
bool Shim::in_stop() const {
  return engine_.fate().ended ? stopping_at_end_ : clock_.running();
}

int Shim::code_alone() const {
  if (will_.code()) {
    return *will_.code();
  }
  return exit_code({.supervised = options_.supervised(),
                    .supervisor_seen = link_.standing(now_) != Standing::never,
                    .stopping = in_stop(),
                    .on_exit = options_.on_exit,
                    .engine = engine_.fate()});
}

}  // namespace lastcall::shim
