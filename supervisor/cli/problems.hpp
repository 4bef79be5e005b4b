// Prints what loading a configuration found, the same way in every subcommand.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "config/load.hpp"

namespace lastcall::cli {

/// The source that was read: the file, or that it was the defaults.
std::string name_of(config::Loaded const& loaded);
/// "lastcall.yaml: 2 errors, 1 warning"; "the defaults" where no file was read.
std::string summary(config::Loaded const& loaded);

/// One line each: errors first, then warnings and notes marked as such.
void print_problems(config::Loaded const& loaded, std::ostream& err);

enum class Warnings : std::uint8_t { shown, left_to_the_log };

/// Loads for a subcommand that needs a usable configuration. Problems go to `err`, warnings of a
/// usable one only where they are wanted; false: leave with kExitUsage.
bool load_or_complain(config::LoadOptions const& options, config::Environment const& environment,
                      config::Loaded& loaded, std::ostream& err,
                      Warnings warnings = Warnings::shown);

}  // namespace lastcall::cli
