// The command line: parses it, runs the subcommand, returns the exit code.
//
// Rules:
//  1. CLI11 lives in app.cpp and commands.cpp. A subcommand is a plain function of its own options
//     struct and two streams, in a file pair of its own; commands.cpp has one row for each.
//  2. Exit code 2 and one clear message for bad usage and bad configuration; --help is 0.
//  3. What was asked for goes to `out`, everything about it to `err`.
//
// Thread rule: called once, from main.
#pragma once

#include <iosfwd>

#include "supervisor/cli/launch.hpp"

namespace lastcall::cli {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 2;
/// A failure of our own that nobody expected: no answer, and for `run` no word of its supervisor.
inline constexpr int kExitUnexpected = 70;  // EX_SOFTWARE of sysexits.h

int run_app(int argc, char const* const* argv, std::ostream& out, std::ostream& err,
            Launch const& launch = {});

}  // namespace lastcall::cli
