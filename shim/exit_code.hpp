// The exit code if the supervisor gave none, or gave a code that cannot be true.
//
// Rules, in this order: 1. a plain init passes the command's status on; 2. a stop before the start
// gives 0; 3. a stop of an engine that no supervisor ever saw gives 1, because it is unknown what
// was cut; 4. in a stop, an engine whose main process had to be KILLed (or could not be killed)
// gives 137, one that ended after our order gives 0 whatever its status, and one that died
// unordered gives 1: its requests in flight are unknown, and unknown counts as work in flight; 5.
// without a stop the end is fatal: it gives 1, or with `propagate` the engine's own code. Pure
// values. Source: 'Exit codes' of the lifecycle.
#pragma once

namespace lastcall::shim {

enum class OnExit : unsigned char { fatal, propagate };

inline constexpr int kExitFatal = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitKilled = 137;

/// How a process ended: its code, or the signal that ended it.
struct Ending {
  int code = 0;
  int signal = 0;
};

/// Converts a status of waitpid(2).
Ending ending_from_status(int status);

/// The code as a shell reports it: the exit code, or 128 plus the signal.
constexpr int shell_code(Ending ending) {
  return ending.signal != 0 ? 128 + ending.signal : ending.code;
}

struct EngineFate {
  bool started = false;
  bool ended = false;
  bool ordered = false;  // the shim sent it a stop signal before it ended
  bool killed = false;   // the shim sent it KILL while its main process was alive
  Ending ending;
};

struct ExitQuestion {
  bool supervised = false;       // there is a socket
  bool supervisor_seen = false;  // a supervisor has welcomed the shim
  bool stopping = false;
  OnExit on_exit = OnExit::fatal;
  EngineFate engine;
};

int exit_code(ExitQuestion const& question);

/// The supervisor's code, except for a 137 if the engine had ended in the stop without a KILL. On a
/// starved machine the supervisor may reach its deadline before it is notified of that end; the
/// shim has reaped the process, so its own judgement counts.
int heed_code(int given, ExitQuestion const& question);

/// Returns the code for an errno of exec.
int exec_failure_code(int error);

}  // namespace lastcall::shim
