// Runs programs that are installed next to this one. They are separate so that the supervisor does
// not contain their code.
//
// Thread rule: main's thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "supervisor/cli/completion.hpp"

namespace lastcall::cli {

/// Becomes the program: the one next to `own_path`, else the one on PATH. `words` begin with its
/// argv[0]. Returns only if neither exists: 1, after a line on `err` that begins with `command`.
int become(std::string const& own_path, std::string const& program, std::vector<std::string> words,
           std::string const& command, std::ostream& err);

/// The subcommands of the program with their options, from its hidden command `tree`; none if the
/// program does not exist.
std::vector<TypedCommand> commands_of(std::string const& own_path, std::string const& program);

}  // namespace lastcall::cli
