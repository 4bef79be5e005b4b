#include "shim/install.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/exit_code.hpp"
#include "shim/log.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {
namespace {

bool copy_all(int from, int to) {
  char buffer[16 * 1024];
  for (;;) {
    ssize_t const count = read(from, buffer, sizeof buffer);
    if (count <= 0) {
      return count == 0;
    }
    for (ssize_t done = 0; done < count;) {
      ssize_t const written = write(to, buffer + done, static_cast<std::size_t>(count - done));
      if (written < 0) {
        return false;
      }
      done += written;
    }
  }
}

/// Returns 0, or an errno.
int copy_program(char const* temporary, char const* target) {
  int const from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (from < 0) {
    return errno;
  }
  unlink(temporary);  // the leftover of an earlier install that was interrupted
  int const to = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (to < 0) {
    int const error = errno;
    close(from);
    return error;
  }
  // Neither the umask nor a page that was not written may make the engine's container fail to
  // start.
  bool const copied = copy_all(from, to) && fchmod(to, 0755) == 0 && fsync(to) == 0 &&
                      rename(temporary, target) == 0;
  int const error = copied ? 0 : errno;
  if (!copied) {
    unlink(temporary);
  }
  close(to);
  close(from);
  return error;
}

}  // namespace

int install_into(char const* directory) {
  constexpr std::string_view kEnd("\0", 1);
  TextOf<PATH_MAX> target;
  TextOf<PATH_MAX> temporary;
  target << directory << "/lastcall-shim" << kEnd;
  temporary << directory << "/.lastcall-shim." << getpid() << kEnd;
  int const error = target.overflowed() || temporary.overflowed()
                        ? ENAMETOOLONG
                        : copy_program(temporary.view().data(), target.view().data());
  if (error != 0) {
    LogLine() << "cannot install into " << directory << ": " << error_text(error);
    return kExitFatal;
  }
  return 0;
}

}  // namespace lastcall::shim
