#include <ostream>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {

int run_version(VersionOptions const& options, std::ostream& out) {
  switch (options.output) {
    case Output::text:
      out << "lastcall " LASTCALL_VERSION "\n";
      break;
    case Output::json:
      out << R"({"name": "lastcall", "version": ")" LASTCALL_VERSION "\"}\n";
      break;
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
