// The parts that the programs with subcommands have in common: parsing, messages, help, the tree to
// complete.
//
// Rules:
//  1. CLI11 lives in command_line.cpp and in the tables of commands. A subcommand is a plain
//     function of its own options struct and two streams, in a file pair of its own.
//  2. Exit code 2 and one clear message for bad usage and bad configuration; --help is 0.
//  3. What was asked for goes to `out`, everything about it to `err`.
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
/// An unexpected failure of our own: no answer, and for `run` no word of its supervisor.
inline constexpr int kExitUnexpected = 70;  // EX_SOFTWARE of sysexits.h

struct Program {
  std::string name;  // as users type it
  char const* description;
  char const* version;
  std::span<Command const> commands;
};

int run_commands(Program const& program, int argc, char const* const* argv, std::ostream& out,
                 std::ostream& err, Launch const& launch);

}  // namespace lastcall::cli
