// lastcall: one binary, one subcommand for each thing it can do.
#include <cerrno>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "supervisor/cli/app.hpp"

namespace {

/// Else a socket of ours would get such a number, and what we print would go into it.
void reserve_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      ::open("/dev/null", O_RDWR | O_CLOEXEC);  // takes the lowest free number, which is fd
    }
  }
}

/// For `run`, which may be PID 1, where the kernel drops what nobody handles or blocks. What comes
/// while it reads its configuration waits for the shim that it becomes. Names those that were not
/// blocked before: the engine is to get them as we did.
std::string hold_stop_signals() {
  constexpr std::pair<int, char const*> kStops[] = {
      {SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}};
  sigset_t stops;
  sigset_t before;
  ::sigemptyset(&stops);
  for (auto const& [signal, name] : kStops) {
    ::sigaddset(&stops, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &stops, &before);
  std::string held;
  for (auto const& [signal, name] : kStops) {
    if (::sigismember(&before, signal) == 0) {
      (held += held.empty() ? "" : ",") += name;
    }
  }
  return held;
}

/// An answer that nobody could read is none.
int with_output_written(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout) {
    return code;
  }
  std::cerr << "lastcall: cannot write to standard output"
            << (errno == 0 ? "" : ": " + std::generic_category().message(errno)) << '\n';
  return code == lastcall::cli::kExitSuccess ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bool const becomes_shim = argc > 1 && std::string_view(argv[1]) == "run";
    std::string const held = becomes_shim ? hold_stop_signals() : std::string();
    reserve_standard_descriptors();
    return with_output_written(lastcall::cli::run_app(argc, argv, std::cout, std::cerr, held));
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return lastcall::cli::kExitUnexpected;
  }
}
