// The command line of lastcall-router. CLI11 stays in command.cpp.
#pragma once

#include <iosfwd>

namespace lastcall::router {

/// Returns the exit code: 0, 1 if it could not serve, 2 if its options or its configuration are
/// wrong.
int run_command(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace lastcall::router
