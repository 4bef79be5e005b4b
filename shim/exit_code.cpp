#include "shim/exit_code.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

namespace lastcall::shim {

Ending ending_from_status(int status) {
  if (WIFSIGNALED(status)) {
    return {.code = 0, .signal = WTERMSIG(status)};
  }
  return {.code = WEXITSTATUS(status), .signal = 0};
}

int exit_code(ExitQuestion const& question) {
  EngineFate const& engine = question.engine;
  if (!question.supervised) {
    return engine.ended ? shell_code(engine.ending) : kExitFatal;
  }
  if (question.stopping) {
    if (!engine.started) {
      return 0;
    }
    if (!question.supervisor_seen) {
      return kExitFatal;
    }
    if (!engine.ended || (engine.killed && engine.ending.signal == SIGKILL)) {
      return kExitKilled;
    }
    return engine.ordered ? 0 : kExitFatal;
  }
  if (engine.ended && question.on_exit == OnExit::propagate) {
    return shell_code(engine.ending);
  }
  return kExitFatal;
}

int heed_code(int given, ExitQuestion const& question) {
  EngineFate const& engine = question.engine;
  bool const was_killed = !engine.ended || shell_code(engine.ending) == kExitKilled;
  return given == kExitKilled && question.stopping && !was_killed ? exit_code(question) : given;
}

int exec_failure_code(int error) {
  return error == ENOENT ? kExitNotFound : kExitNotExecutable;
}

}  // namespace lastcall::shim
