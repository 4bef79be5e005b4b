// lastcall: one binary with one subcommand for each of its tasks. The launcher becomes it.
#include <exception>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "base/undumpable.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/launch.hpp"

namespace {

/// Opens missing standard descriptors. Otherwise one of our sockets would get such a number, and
/// our output would go into it.
void reserve_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      ::open("/dev/null", O_RDWR | O_CLOEXEC);  // takes the lowest free number, which is fd
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  lastcall::become_undumpable();  // the environment holds secrets
  try {
    lastcall::cli::Launch const launch = lastcall::cli::take_launch();
    reserve_standard_descriptors();
    return lastcall::cli::run_app(argc, argv, std::cout, std::cerr, launch);
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return lastcall::cli::kExitUnexpected;
  }
}
