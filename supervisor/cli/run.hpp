// `lastcall run -- CMD`: runs an engine with its supervisor in one container or on a plain host,
// with Docker or ECS.
//
// Rules:
//  1. The configuration is checked first; with a bad one the exit code is 2 and nothing is started.
//  2. It then becomes lastcall-shim, which starts `lastcall serve` and the command: from then on
//     the exit code is the shim's.
//  3. Sockets are where the configuration says. The default place is for the only service of a
//     container: if it cannot be used or is in use, this run gets a directory of its own.
//  4. The launcher holds back signals from the first moment on, and the shim receives them.
//  5. If a port or a socket that `serve` needs is not available, `run` ends with one line before
//     anything runs; an error that only `serve` can find ends it in the same way, through the shim.
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
  /// The words of a command without `--` before it, whose options would be taken for ours.
  std::vector<std::string> stray;
  std::string supervisor_timeout;  // empty: the shim's default
  bool tty = false;
  bool required = false;
  Launch launch;
};

/// Returns only if it cannot become the shim.
int run_run(RunCommand const& command, config::Environment const& environment, std::ostream& err);

}  // namespace lastcall::cli
