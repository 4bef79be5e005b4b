// `lastcall serve`: runs the supervisor, next to an engine's shim.
//
// Exit code: 0 or 1 depending on how the stop ended, 1 if it cannot listen, 2 for a bad
// configuration.
#pragma once

#include <iosfwd>
#include <string>

#include "config/load.hpp"

namespace lastcall::cli {

struct ServeCommand {
  config::LoadOptions load;
  std::string private_directory;  // set by `run`: removed at the end
  std::string shim_socket;        // set by `run`: where its shim connects, whatever the file says
  pid_t parent = 0;               // set by `run`: the shim; without it there is nothing to do
};

/// Does not return once the supervisor has run: a worker that hangs must not keep the process
/// alive.
int run_serve(ServeCommand const& command, config::Environment const& environment,
              std::ostream& err);

}  // namespace lastcall::cli
