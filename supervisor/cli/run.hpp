// `lastcall run -- CMD`: one container, a plain host, Docker or ECS.
//
// Rules:
//  1. The configuration is checked first; a bad one is exit code 2 and nothing was started.
//  2. It then becomes lastcall-shim, which starts `lastcall serve` and the command: from there on
//     the exit code is the shim's.
//  3. Sockets are where the configuration says. The default place is for the one service of a
//     container: where it cannot be used, or is taken, this run gets a directory of its own.
//  4. A signal is held from the first moment on, by the launcher, and the shim receives it.
//  5. What `serve` could not have, a port or a socket, ends it with one line before anything runs;
//     what only `serve` finds out ends it in the same way, through the shim.
//
// Thread rule: called once, from main.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "supervisor/cli/launch.hpp"

namespace lastcall::cli {

struct RunCommand {
  config::LoadOptions load;
  std::vector<std::string> command;  // empty: engine.command
  /// A command without `--` before it would lose its options to ours.
  std::vector<std::string> stray;
  std::string supervisor_timeout;  // empty: the shim's default
  bool tty = false;
  bool required = false;
  Launch launch;
};

/// Returns only when there is no program to become.
int run_run(RunCommand const& command, config::Environment const& environment, std::ostream& err);

}  // namespace lastcall::cli
