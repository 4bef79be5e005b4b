#include "supervisor/cli/beside.hpp"

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <string_view>

#include <unistd.h>

#include "base/child_output.hpp"
#include "base/error_text.hpp"

namespace lastcall::cli {
namespace {

void execute(std::string const& own_path, std::string const& program,
             std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execv((std::filesystem::path(own_path).parent_path() / program).c_str(), pointers.data());
  ::execvp(program.c_str(), pointers.data());
}

}  // namespace

int become(std::string const& own_path, std::string const& program, std::vector<std::string> words,
           std::string const& command, std::ostream& err) {
  execute(own_path, program, words);
  err << command << ": cannot run " << program << ": " << error_text(errno)
      << ", expected it beside " << own_path << " or on PATH\n";
  return 1;
}

std::vector<TypedCommand> commands_of(std::string const& own_path, std::string const& program) {
  std::vector<std::string> words{program, "tree"};
  auto const tree = output_of_child([&] { execute(own_path, program, words); });
  return read_tree(tree.value_or(std::string()));
}

}  // namespace lastcall::cli
