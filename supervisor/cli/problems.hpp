// Prints the problems of a configuration in the same way in every subcommand.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "config/load.hpp"

namespace lastcall::cli {

/// The name of the source that was read: the file, or "the defaults".
std::string name_of(config::Loaded const& loaded);
/// "lastcall.yaml: 2 errors, 1 warning"; begins with "the defaults" if no file was read.
std::string summary(config::Loaded const& loaded);

/// Prints one line for each: errors first, then warnings and notes, which are marked.
void print_problems(config::Loaded const& loaded, std::ostream& err);

enum class Warnings : std::uint8_t { shown, left_to_the_log };

/// Loads for a subcommand that needs a usable configuration. Problems go to `err`; the warnings of
/// a usable configuration only if `warnings` says so. False: the command has to exit with
/// kExitUsage.
bool load_or_complain(config::LoadOptions const& options, config::Environment const& environment,
                      config::Loaded& loaded, std::ostream& err,
                      Warnings warnings = Warnings::shown);

}  // namespace lastcall::cli
