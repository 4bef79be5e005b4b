#include "supervisor/cli/doctor.hpp"

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace lastcall::cli {

int run_doctor(DoctorOptions const& options, std::string const& own_path, std::ostream& err) {
  std::string const beside =
      (std::filesystem::path(own_path).parent_path() / "lastcall-doctor").string();
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
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execv(beside.c_str(), pointers.data());
  ::execvp(pointers.front(), pointers.data());
  err << "lastcall doctor: cannot run lastcall-doctor: " << std::generic_category().message(errno)
      << ", expected it beside " << own_path << " or on PATH\n";
  return 1;
}

}  // namespace lastcall::cli
