#include "shim/options.hpp"

namespace lastcall::shim {

char const kUsage[] =
    R"(usage: lastcall-shim [options] -- COMMAND [ARGUMENT]...

PID 1 of an engine container: starts COMMAND, reaps every child, and enforces the
deadline of a stop.

  --socket PATH              the supervisor's socket; without it, act as a plain init
  --supervisor-timeout 10s   start COMMAND by itself if no order comes within this time
  --required                 exit with 1 in that case, instead of starting COMMAND
  --on-exit fatal|propagate  if COMMAND ends by itself, exit with 1 or with its code
  --stop-signals LIST        signals to hold back and report (default: TERM,INT,QUIT)
  --rewrite FROM:TO          forward TO instead of FROM (names or numbers; 0 drops the
                             signal); may be repeated
  --grace 60s                longest duration of a stop, unless the supervisor sets less
  --rest-grace 10s           how long processes may live that COMMAND leaves behind in a
                             stop
  --tty                      give COMMAND its own process group and the terminal
  --serve PATH               also start PATH as the supervisor, and again after a crash
  --serve-arg ARGUMENT       one argument for PATH; may be repeated
  --restart PATH             PATH is the COMMAND: the words after it are its arguments, and
                             PATH serve is started again after a crash (a signal, or a
                             code other than 0 and 2), never after a stop signal
  --install DIR              copy this program into DIR, and exit
  --prestop engine|supervisor  act as the preStop hook of that container: exit when it may
                             get its stop signal (--socket, else $LASTCALL_SOCKET)
  --version, --help

Durations are whole numbers with a unit: 500ms, 60s, 2m, 1h.
Environment: LASTCALL_POD_GRACE_SECONDS (the pod's terminationGracePeriodSeconds),
LASTCALL_TERMINATION_LOG (/dev/termination-log). COMMAND gets LASTCALL_SOCKET.

Exit code: 0 graceful stop; 1 fatal; 137 COMMAND had to be killed at the deadline;
2 bad usage; 126 COMMAND not executable; 127 COMMAND not found. As a plain init:
COMMAND's own code, or 128 plus the signal that ended it.
)";

}  // namespace lastcall::shim
