#include "shim/options.hpp"

namespace lastcall::shim {

char const kUsage[] =
    R"(usage: lastcall-shim [options] -- COMMAND [ARGUMENT]...

PID 1 of an engine container: starts COMMAND, reaps every child, and enforces the
deadline of a stop.

  --socket PATH              supervisor's socket; without it a plain init
  --supervisor-timeout 10s   start COMMAND after this long without an order to
  --required                 exit 1 instead of starting COMMAND without an order
  --on-exit fatal|propagate  COMMAND ended by itself: exit 1, or pass its code on
  --stop-signals LIST        held and reported to the supervisor (TERM,INT,QUIT)
  --rewrite FROM:TO          send TO for FROM, names or numbers; 0 drops; repeatable
  --grace 60s                longest stop, unless the supervisor gives less
  --rest-grace 10s           for processes that COMMAND leaves behind in a stop
  --tty                      COMMAND gets its own process group and the terminal
  --serve PATH               also start PATH as supervisor, again after a crash
  --serve-arg ARGUMENT       one argument for it; repeatable
  --restart PATH             PATH is the COMMAND: the words after it are its arguments, and
                             PATH serve is started again after a crash (a signal, or a
                             code other than 0 and 2), never after a stop signal
  --install DIR              copy this program into DIR, and exit
  --prestop engine|supervisor  the preStop hook of that container: exits when its stop
                             signal may come (--socket, else $LASTCALL_SOCKET)
  --version, --help

Durations are whole numbers with a unit: 500ms, 60s, 2m, 1h.
Environment: LASTCALL_POD_GRACE_SECONDS (the pod's terminationGracePeriodSeconds),
LASTCALL_TERMINATION_LOG (/dev/termination-log). COMMAND gets LASTCALL_SOCKET.

Exit code: 0 graceful stop; 1 fatal; 137 COMMAND had to be killed at the deadline;
2 bad usage; 126 COMMAND not executable; 127 COMMAND not found. As a plain init:
COMMAND's own code, or 128 plus the signal that ended it.
)";

}  // namespace lastcall::shim
