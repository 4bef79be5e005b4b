// Starts a child.
//
// Rules: 1. synchronous: a failed exec is an errno here, never a child that exits; 2. the child
// gets the mask and the ignored signals that the shim was started with, SIGPIPE and SIGCHLD
// default, and the directory that it was started in; 3. it leads its own session or, with the
// terminal, its own process group, which becomes the foreground one. Source: posix_spawn(3),
// tcsetpgrp(3).
#pragma once

#include <sys/types.h>

#include "shim/launch.hpp"

namespace lastcall::shim {

struct ChildPlan {
  char const* program;  // searched in PATH if it has no slash
  char* const* argv;
  char* const* environment;
  bool takes_terminal = false;
  bool is_service = false;  // stdin from /dev/null, stdout to stderr
};

struct Spawned {
  pid_t pid = -1;
  int error = 0;  // the reason why there is no pid
};

Spawned spawn(ChildPlan const& plan, Launch const& launch);

/// The result that exec would have for the program, found before anything is started: 0 or an
/// errno.
int check_program(char const* program);

/// The environment without the supervisor's secrets, and with LASTCALL_SOCKET set to `socket`
/// unless that is null.
char* const* engine_environment(char* const* environment, char const* socket);

}  // namespace lastcall::shim
