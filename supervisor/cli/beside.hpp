// Programs that are installed beside this one, so that the supervisor does not carry them.
//
// Thread rule: main's thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "supervisor/cli/completion.hpp"

namespace lastcall::cli {

/// Becomes the program: the one beside `own_path`, else the one on PATH. `words` begin with the
/// name that it is called by. Returns only where neither exists: 1, after a line on `err` that
/// begins with `command`.
int become(std::string const& own_path, std::string const& program, std::vector<std::string> words,
           std::string const& command, std::ostream& err);

/// The subcommands of the program with their options, from its hidden command `tree`; none where it
/// is not there.
std::vector<TypedCommand> commands_of(std::string const& own_path, std::string const& program);

}  // namespace lastcall::cli
