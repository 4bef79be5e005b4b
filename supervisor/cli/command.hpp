// One subcommand as a table of them has it.
//
// Thread rule: main's thread.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "supervisor/cli/completion.hpp"
#include "supervisor/cli/launch.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace lastcall::cli {

struct Streams {
  std::ostream& out;
  std::ostream& err;
  std::vector<std::string> after_dashes;  // of a command that takes them as they are
  Launch launch;
  std::function<CommandTree()> tree;  // everything that can be typed
};

/// Runs once the command line is understood; its options were filled in by then.
using Run = std::function<int(Streams const&)>;

struct Command {
  char const* name;
  char const* summary;
  Run (*setup)(CLI::App&) = nullptr;
  /// What follows `--` belongs to another program: nothing of ours reads it.
  bool passes_on_after_dashes = false;
  /// The program beside this one that has the command, with this name and these words; else null.
  char const* program = nullptr;
};

}  // namespace lastcall::cli
