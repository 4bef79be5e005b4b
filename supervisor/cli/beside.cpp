#include "supervisor/cli/beside.hpp"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

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

/// What a program prints; nothing where it cannot be run.
std::string output_of(std::string const& own_path, std::string const& program,
                      std::vector<std::string> words) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return {};
  }
  pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    execute(own_path, program, words);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t count = 0; child > 0 && (count = ::read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0 ? text : std::string();
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
  return read_tree(output_of(own_path, program, {program, "tree"}));
}

}  // namespace lastcall::cli
