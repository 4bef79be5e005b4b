// For a program that was started without standard input, output or error: a socket, a file or the
// loop's own descriptor would get such a number, and what is written to standard error would go
// into it.
//
// Thread rule: at the start of main, before anything is opened. Source: open(2), 'lowest-numbered'.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace lastcall {

/// What the program executes has them closed, as it would have without the program.
inline void reserve_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      ::open("/dev/null", O_RDWR | O_CLOEXEC);  // takes the lowest free number, which is fd
    }
  }
}

}  // namespace lastcall
