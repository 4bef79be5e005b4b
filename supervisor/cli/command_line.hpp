// The common parts of the programs with subcommands: parsing, messages, help, and the tree for
// completion.
//
// Rules:
//  1. Only command_line.cpp and the tables of commands use CLI11. A subcommand is a plain function
//     of its own options struct and two streams, in a file of its own.
//  2. Bad usage and bad configuration give exit code 2 and one clear message; --help gives 0.
//  3. The requested output goes to `out`, every message about it to `err`.
//  4. A command of another program is not parsed here: this process becomes that program.
//
// Thread rule: called once, from main.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "supervisor/cli/command.hpp"

namespace lastcall::cli {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 2;
/// An unexpected failure of our own: there is no answer. A `serve` that `run` has started is
/// started again after it.
inline constexpr int kExitUnexpected = 70;  // EX_SOFTWARE of sysexits.h

struct Program {
  std::string name;  // the name that users type
  char const* description;
  char const* version;
  std::span<Command const> commands;
};

/// Returns the command's exit code, or a failure if its output could not be written.
int run_commands(Program const& program, int argc, char const* const* argv, std::ostream& out,
                 std::ostream& err, Launch const& launch);

}  // namespace lastcall::cli
