// The table of subcommands of `lastcall`. Internal to supervisor/cli.
//
// Thread rule: main's thread.
#pragma once

#include <span>

#include "supervisor/cli/command.hpp"

namespace lastcall::cli {

std::span<Command const> commands();

}  // namespace lastcall::cli
