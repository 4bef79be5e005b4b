#include <string>
#include <utility>
#include <vector>

#include "supervisor/cli/beside.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {

int run_doctor(DoctorOptions const& options, std::string const& own_path, std::ostream& err) {
  std::vector<std::string> words{"lastcall-doctor"};
  if (options.load.path) {
    words.insert(words.end(), {"--config", *options.load.path});
  }
  for (std::string const& one : options.load.overrides) {
    words.insert(words.end(), {"--set", one});
  }
  if (options.output == Output::json) {
    words.emplace_back("--json");
  }
  return become(own_path, "lastcall-doctor", std::move(words), "lastcall doctor", err);
}

}  // namespace lastcall::cli
