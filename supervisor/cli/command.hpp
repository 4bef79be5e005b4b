// One subcommand as an entry of a table.
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
  std::vector<std::string> after_dashes;  // for a command that passes them on
  Launch launch;
  std::function<CommandTree()> tree;  // everything that can be typed
};

/// Runs the subcommand after the command line was parsed and its options were filled in.
using Run = std::function<int(Streams const&)>;

struct Command {
  char const* name;
  char const* summary;
  Run (*setup)(CLI::App&) = nullptr;
  /// The words after `--` belong to another program and are not parsed here.
  bool passes_on_after_dashes = false;
  /// The program next to this one that has the command, with the same name and words; else null.
  char const* program = nullptr;
};

}  // namespace lastcall::cli
