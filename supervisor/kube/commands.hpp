// The table of subcommands of lastcall-kube.
//
// Thread rule: main's thread.
#pragma once

#include <span>

#include "supervisor/cli/command_line.hpp"

namespace lastcall::kube {

std::span<cli::Command const> commands();
char const* version();

}  // namespace lastcall::kube
