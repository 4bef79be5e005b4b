// Reads what a child prints on its standard output, for commands that a user waits for: it blocks
// until the child has closed it, without a deadline.
//
// Rule: the child inherits the caller's other descriptors and signals; a descriptor that it must
// not inherit is marked close-on-exec. The thread rule of fork(2) applies: only `become` runs
// between fork and exec, so in a program with several threads it must not take a lock. Source:
// pipe(2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lastcall {

/// `become` replaces the child's image and returns only if it cannot. The result is nothing if the
/// child could not be started or did not exit with status 0.
template <typename Become>
std::optional<std::string> output_of_child(Become become) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    become();
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
  bool const is_good = child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  return is_good ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace lastcall
