#include "shim/children.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "shim/actions.hpp"
#include "shim/log.hpp"
#include "shim/orders.hpp"

namespace lastcall::shim {
namespace {

void engine_ended(Parts& s, Ending ending) {
  if (s.options.restarts && s.state == State::running && s.revival.wants(ending, s.now)) {
    LogLine() << s.options.command[0] << " ended with "
              << (ending.signal != 0 ? "signal " : "code ")
              << (ending.signal != 0 ? ending.signal : ending.code) << ": starting it again"
              << (s.revival.next_wake() == s.now ? "" : " after a pause");
    return;
  }
  happen(s, Event::engine_ended);
}

/// The lines that the supervisor wrote before its end are read first, because an end that follows
/// an order to exit is not a crash.
void service_ended(Parts& s, Ending ending) {
  s.vigil.end();
  receive_last_words(s);
  bool const refuses = s.state == State::waiting && s.link.standing(s.now) == Standing::never &&
                       s.service.is_refusal(ending);
  return refuses ? refuse_start(s, ending) : s.service.ended(ending, s.now);
}

void revive_if_due(Parts& s) {
  if (!s.revival.is_due(s.now)) {
    return;
  }
  if (int const error = s.engine.start(s.launch, s.now); error != 0) {
    LogLine() << "cannot run " << s.options.command[0] << ": " << error_text(error);
    s.revival.wants({.code = exec_failure_code(error), .signal = 0}, s.now);
    return;
  }
  s.revival.began(s.now);
  s.rest.note_childless(false);
}

/// The shim does not wait for its own supervisor if that no longer answers, or never listens.
void watch_service(Parts& s) {
  if (!s.service.is_running() || s.state == State::leaving) {
    return s.vigil.end();
  }
  if (s.link.is_kept_out()) {
    s.vigil.received();  // the shim itself may be the reason for the silence
  }
  switch (s.vigil.look(s.now)) {
    case Vigil::Need::nothing:
      return;
    case Vigil::Need::ask:
      return s.link.send_ping();
    case Vigil::Need::give_up:
      LogLine() << "the supervisor has not answered for 20 s: killing it and starting it again";
      kill(s.service.pid(), SIGKILL);
      return s.vigil.end();
  }
}

}  // namespace

void reap(Parts& s) {
  for (;;) {
    int status = 0;
    pid_t const pid = waitpid(-1, &status, WNOHANG | (s.watch.is_on() ? WUNTRACED : 0));
    if (pid <= 0) {
      s.rest.note_childless(pid < 0 && errno == ECHILD);
      return;
    }
    if (WIFSTOPPED(status)) {
      s.watch.stopped(pid, s.now);
      continue;
    }
    s.rest.reaped(pid, pid != s.engine.pid() && pid != s.service.pid());
    Ending const ending = ending_from_status(status);
    s.watch.reaped(pid, ending, s.now);
    if (s.engine.reaped(pid, ending, s.now)) {
      engine_ended(s, ending);
    } else if (s.service.reaped(pid)) {
      service_ended(s, ending);
    } else {
      ++s.orphans_reaped;
    }
  }
}

void tend_children(Parts& s) {
  if (s.service.restart_if_due(s.launch, s.now)) {
    s.rest.note_childless(false);
    s.vigil.begin(s.now);
    s.link.look_eagerly(s.now);
  }
  revive_if_due(s);
  watch_service(s);
}

}  // namespace lastcall::shim
