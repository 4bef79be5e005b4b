// `lastcall check`: validates a configuration and prints every problem at once.
//
// Exit code 0: usable; 2: errors, or warnings with --strict.
#pragma once

#include <iosfwd>

#include "config/load.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct CheckOptions {
  config::LoadOptions load;
  bool strict = false;
  Output output = Output::text;
};

int run_check(CheckOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
