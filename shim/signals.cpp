#include "shim/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include "shim/actions.hpp"
#include "shim/log.hpp"

namespace lastcall::shim {
namespace {

void take_stop_signal(Parts& s, int signal, pid_t sender) {
  if (s.stop.came(signal, s.now)) {
    TextOf<16> name;
    append_signal_name(name, signal);
    LogLine line;
    line << "got " << name.view();
    if (sender == 0) {
      line << " from outside the container";
    } else {
      line << " from process " << sender;
    }
  }
  s.clock.begin(s.now);
  s.link.send_signal(s.now, signal);
  s.service.hurry(s.now);
  happen(s, Event::stop_signal);
}

}  // namespace

void take_signal(Parts& s, int signal, pid_t sender, int code) {
  // The reader of a log is gone, or a file may not grow any more.
  bool const own_failed_write = (signal == SIGPIPE || signal == SIGXFSZ) && sender == getpid();
  if (signal == SIGCHLD || own_failed_write || SignalPolicy::is_own_fault(signal, code)) {
    return;
  }
  if (s.options.supervised() && s.options.signals.is_stop(signal)) {
    return take_stop_signal(s, signal, sender);
  }
  if (s.options.restarts && s.options.signals.is_stop(signal) && s.revival.give_up()) {
    return happen(s, Event::engine_ended);  // it has ended already, and will not be started again
  }
  s.engine.send(s.options.signals.for_engine(signal));
}

}  // namespace lastcall::shim
