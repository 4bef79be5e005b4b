// Starts a command with Boost.Process. The command leads a process group of its own. It has default
// signal actions, an empty signal mask, /dev/null as its input, one descriptor for its output, the
// limit on descriptors that the supervisor was started with, and an environment without the
// supervisor's secrets. It inherits nothing else from the supervisor.
//
// The call blocks until the command has been executed, or until that has failed.
//
// Thread rule: the loop's thread. Source: Boost.Process 1.81 v2, fork(2), execve(2), environ(7);
// docs/adr/0022-boost-process.md lists what the library leaves to its initialisers.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace lastcall::runtime {

struct Launched {
  pid_t pid = 0;    // the caller must reap it; 0: nothing was started
  int problem = 0;  // errno(3) of the step that failed, which may be the exec
};

/// `command` names a program by its path, or a program in PATH. Standard output and standard error
/// go to `output`.
Launched launch(std::vector<std::string> const& command, int output);

}  // namespace lastcall::runtime
