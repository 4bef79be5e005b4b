// lastcall: one binary, one subcommand for each thing it can do.
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/error_text.hpp"
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

constexpr std::pair<int, char const*> kStops[] = {
    {SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}};
sigset_t mask_before;

bool becomes_shim(int argc, char const* const* argv) {
  return argc > 1 && std::strcmp(argv[1], "run") == 0;
}

/// For `run`, which may be PID 1, where the kernel drops what nobody handles or blocks. What comes
/// while it reads its configuration waits for the shim that it becomes. Called before the
/// constructors of this program and of its libraries, which take longer than all the rest.
void hold_stop_signals(int argc, char** argv, char** /*environment*/) {
  if (!becomes_shim(argc, argv)) {
    return;
  }
  sigset_t stops;
  ::sigemptyset(&stops);
  for (auto const& [signal, name] : kStops) {
    ::sigaddset(&stops, signal);
  }
  ::sigprocmask(SIG_BLOCK, &stops, &mask_before);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kHoldFirst)(int, char**,
                                                                       char**) = hold_stop_signals;

/// Those that were not blocked before: the engine is to get them as we did.
std::string held_signals() {
  std::string held;
  for (auto const& [signal, name] : kStops) {
    if (::sigismember(&mask_before, signal) == 0) {
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
            << (errno == 0 ? "" : ": " + lastcall::error_text(errno)) << '\n';
  return code == lastcall::cli::kExitSuccess ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string const held = becomes_shim(argc, argv) ? held_signals() : std::string();
    reserve_standard_descriptors();
    return with_output_written(lastcall::cli::run_app(argc, argv, std::cout, std::cerr, held));
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return lastcall::cli::kExitUnexpected;
  }
}
