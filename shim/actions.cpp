#include "shim/actions.hpp"

#include <signal.h>

#include "shim/leaving.hpp"
#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/tree_rules.hpp"

namespace lastcall::shim {
namespace {

void note_standing(Parts& s) {
  if (s.state == State::leaving) {
    return;  // the end of the supervisor was expected
  }
  std::string_view const news = s.link_news.standing(s.link.standing(s.now));
  if (!news.empty()) {
    LogLine() << news;
  }
}

void start_engine(Parts& s, Event event) {
  if (event == Event::start_due) {
    LogLine() << "no order to start the command came in time: starting it without one";
  }
  int const error = s.engine.start(s.launch, s.now);
  s.rest.note_childless(false);
  s.revival.began(s.now);
  if (!s.service.exists() && !s.options.restarts) {
    s.launch.forget_directory();
  }
  if (error != 0) {
    LogLine() << "cannot run " << s.options.command[0] << ": " << error_text(error);
    // The status as a shell reports it, so that the supervisor can end then.
    EngineFacts failed = s.engine.facts();
    failed.ending = {.code = exec_failure_code(error), .signal = 0};
    failed.exited_at = s.now;
    write_engine_exited(s.link.out(), failed);
    return give_up(s, failed.ending.code);
  }
  if (s.options.supervised()) {
    s.watch.begin(s.now, s.epoll, s.engine.pid());
  }
  write_engine_started(s.link.out(), s.engine.facts());
}

void stop_engine(Parts& s, Event event) {
  s.watch.engine_is_asked_to_end();
  if (event == Event::term_due) {
    LogLine() << "no order to stop the command came: sending TERM without one";
    s.stop.ours(s.options.signals.for_order(SIGTERM));
  } else if (s.stop.reach() == StopOrder::Reach::whole_tree) {
    signal_tree(s.stop.signal(), s.service.pid());
    signal_tree(SIGCONT, s.service.pid());
    s.engine.stop(0);
    return;
  }
  s.engine.stop(s.stop.signal());
}

void settle(Parts& s) {
  EngineFacts const& engine = s.engine.facts();
  s.end.main_ended(s.now, s.clock.running());
  s.rest.look_anew();
  if (!s.options.supervised()) {
    return;
  }
  bool const by_signal = engine.ending.signal != 0;
  LogLine() << "the command ended with " << (by_signal ? "signal " : "code ")
            << (by_signal ? engine.ending.signal : engine.ending.code)
            << (engine.oom ? ", after an OOM kill" : "") << (engine.ordered ? "" : ", unordered");
}

void perform(Parts& s, Action action, Event event) {
  switch (action) {
    case Action::start:
      return start_engine(s, event);
    case Action::resume:
      s.will.forget();
      return s.clock.forget();
    case Action::stop:
      return stop_engine(s, event);
    case Action::kill:
      if (event == Event::kill_due) {
        LogLine() << "the command still runs at its deadline: sending KILL";
      }
      s.engine.note_kill();
      s.rest.condemn();
      return kill_tree(s, s.service.pid(), false);
    case Action::settle:
      return settle(s);
    case Action::stand_down:
      return s.end.stood_down(s.now);
    case Action::leave:
      return leave(s);
    case Action::never:
      LogLine() << "event " << static_cast<int>(event) << " is impossible in state "
                << static_cast<int>(s.state) << ": ignored, but this is a bug";
      return;
    case Action::hold:
      // Once these processes have ended, nothing is left to wait for.
      return s.watch.walk_soon(s.now);
    case Action::already:
    case Action::too_late:
    case Action::no_stop:
      return;
  }
}

}  // namespace

void happen(Parts& s, Event event) {
  bool const refuses_start = event == Event::start_due && s.options.required;
  if (refuses_start) {
    LogLine() << "no order to start the command came in time, and --required was given";
    s.departure.failed(kExitFatal);
  }
  Action const action = refuses_start ? Action::leave : action_for(s.state, event);
  s.state = state_after(s.state, action);
  perform(s, action, event);
}

/// An engine may be started without a supervisor that may still come, but not without one that has
/// just reported why it cannot run.
void refuse_start(Parts& s, Ending ending) {
  LogLine() << "the supervisor cannot run, and ended with code " << ending.code
            << ": not starting the command";
  s.service.never_restart();
  give_up(s, ending.code);
}

void give_up(Parts& s, int code) {
  s.departure.failed(code);
  s.state = State::leaving;
  leave(s);
}

void apply_due_rules(Parts& s) {
  note_standing(s);
  for (;;) {
    std::optional<Due> const due = next_due(situation(s), s.clock);
    if (!due || s.now < due->at) {
      return;
    }
    happen(s, due->event);
  }
}

}  // namespace lastcall::shim
