// Starts a command with Boost.Process. It leads a group of its own, and has default signal actions,
// an empty mask, /dev/null to read, one descriptor to write to, the limit on descriptors that the
// supervisor was started with, an environment without the supervisor's secrets, and nothing else of
// the supervisor's.
//
// Blocks until the command has been executed or that has failed.
//
// Thread rule: the loop's thread. Source: Boost.Process 1.81 v2, fork(2), execve(2), environ(7);
// docs/adr/0022-boost-process.md has what the library leaves to its initialisers.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace lastcall::runtime {

struct Launched {
  pid_t pid = 0;    // to be reaped by the caller; 0: nothing was started
  int problem = 0;  // errno(3) of what failed, the exec itself included
};

/// `command` names a program with its path, or one that is in PATH. Both outputs go to `output`.
Launched launch(std::vector<std::string> const& command, int output);

}  // namespace lastcall::runtime
