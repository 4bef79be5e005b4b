// `lastcall replay FILE`: makes the decisions in a log of level debug again.
//
// So a field report becomes a test: the same events give the same actions, or it prints the first
// line that differs. Exit codes: 0 every action is the same; 1 a line differs, is missing or was
// changed; 2 bad usage, a file that cannot be read, or a file without any step in it.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct ReplayOptions {
  std::string file;  // "-" is standard input
  Output output = Output::text;
};

int run_replay(ReplayOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
