// The command line of `lastcall`, with the subcommands of commands.hpp.
//
// Thread rule: called once, from main.
#pragma once

#include <iosfwd>

#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/launch.hpp"

namespace lastcall::cli {

int run_app(int argc, char const* const* argv, std::ostream& out, std::ostream& err,
            Launch const& launch = {});

}  // namespace lastcall::cli
