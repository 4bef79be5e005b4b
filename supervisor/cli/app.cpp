#include "supervisor/cli/app.hpp"

#include "supervisor/cli/commands.hpp"

namespace lastcall::cli {

int run_app(int argc, char const* const* argv, std::ostream& out, std::ostream& err,
            Launch const& launch) {
  return run_commands({.name = "lastcall",
                       .description = "The lifecycle sidecar for LLM engines on Kubernetes",
                       .version = LASTCALL_VERSION,
                       .commands = commands()},
                      argc, argv, out, err, launch);
}

}  // namespace lastcall::cli
