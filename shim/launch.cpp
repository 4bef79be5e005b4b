#include "shim/launch.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/directory.hpp"
#include "shim/log.hpp"
#include "shim/parse.hpp"

namespace lastcall::shim {
namespace {

constexpr unsigned kFirstInherited = STDERR_FILENO + 1;

/// Used if close_range is refused (old seccomp profiles return EPERM, old kernels ENOSYS).
bool close_listed_descriptors() {
  Directory listing("/proc/self/fd");
  if (!listing.is_open()) {
    return false;
  }
  while (char const* name = listing.next()) {
    std::optional<std::int64_t> const fd = parse_unsigned(name);
    if (fd && *fd >= kFirstInherited && *fd != listing.descriptor()) {
      close(static_cast<int>(*fd));
    }
  }
  return true;
}

void close_every_descriptor() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  auto const last = limit.rlim_cur < 65'536 ? static_cast<int>(limit.rlim_cur) : 65'536;
  for (int fd = kFirstInherited; fd < last; ++fd) {
    close(fd);
  }
}

}  // namespace

int Launch::take_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask_);
  signal(SIGCHLD, SIG_DFL);
  return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

void Launch::release(SignalBits held) {
  for (int signal = 1; signal < kSignalLimit; ++signal) {
    if ((held & bit_of(signal)) != 0) {
      sigdelset(&mask_, signal);
    }
  }
}

void Launch::close_inherited_descriptors() {
  if (syscall(SYS_close_range, kFirstInherited, ~0U, 0) == 0 || close_listed_descriptors()) {
    return;
  }
  close_every_descriptor();
}

void Launch::leave_directory() {
  directory_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_ >= 0 && chdir("/") != 0) {
    LogLine() << "cannot change to /: " << error_text(errno);
  }
}

void Launch::forget_directory() {
  if (directory_ >= 0) {
    close(directory_);
    directory_ = -1;
  }
}

void become_subreaper() {
  if (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    LogLine() << "cannot become subreaper: " << error_text(errno)
              << "; orphans of the command will not be reaped";
  }
}

}  // namespace lastcall::shim
