// lastcall: one binary, one subcommand for each thing it can do.
#include <cerrno>
#include <exception>
#include <iostream>
#include <system_error>

#include <fcntl.h>
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
  reserve_standard_descriptors();
  try {
    return with_output_written(lastcall::cli::run_app(argc, argv, std::cout, std::cerr));
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return 1;
  }
}
