// bench_child: what runs under an init or under `lastcall run` while something is measured.
//
//   exit                   ends at once with code 0
//   signals                writes the instant of each signal to stdout; ends after TERM
//   orphans COUNT          leaves COUNT orphans to the init, lets them all end at the same moment,
//                          and prints "GONE NANOSECONDS": how many were reaped and how long the
//                          last one took
//
// Instants are eight bytes (instant.hpp). Static and without library start-up of its own, so that
// what is measured is the init.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instant.hpp"

namespace lastcall::bench {
namespace {

constexpr std::int64_t kPatience = 10'000'000'000;

int signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (!report_instant(STDOUT_FILENO, now_ns())) {
    return 1;
  }
  for (;;) {
    int const signal = sigwaitinfo(&all, nullptr);
    std::int64_t const at = now_ns();
    if (signal == SIGCONT) {
      continue;  // comes with TERM, and adds nothing new
    }
    if (signal > 0 && !report_instant(STDOUT_FILENO, at)) {
      return 1;
    }
    if (signal == SIGTERM) {
      return 0;
    }
  }
}

/// Forks twice, so that the grandchild has no parent; it ends when `gate` is closed.
pid_t leave_orphan(int const (&gate)[2], int const (&names)[2]) {
  pid_t const middle = fork();
  if (middle == 0) {
    if (fork() == 0) {
      close(gate[1]);
      pid_t const self = getpid();
      char byte = 0;
      bool const reported = write(names[1], &self, sizeof self) == sizeof self;
      _exit(reported && read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    _exit(0);
  }
  if (middle < 0 || waitpid(middle, nullptr, 0) != middle) {
    return 0;
  }
  pid_t orphan = 0;
  return read(names[0], &orphan, sizeof orphan) == sizeof orphan ? orphan : 0;
}

/// A process that ended but was not reaped still takes signals; a reaped one is not found.
bool is_reaped(pid_t pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}

int orphans(int count) {
  int gate[2];
  int names[2];
  if (pipe(gate) != 0 || pipe(names) != 0) {
    return 1;
  }
  std::vector<pid_t> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(leave_orphan(gate, names));
    if (all.back() == 0) {
      return 1;
    }
  }
  std::int64_t const released = now_ns();
  close(gate[1]);
  int gone = 0;
  std::int64_t last = released;
  for (pid_t const pid : all) {
    while (!is_reaped(pid) && last - released < kPatience) {
      usleep(50);
      last = now_ns();
    }
    gone += is_reaped(pid) ? 1 : 0;
    last = now_ns();
  }
  std::printf("%d %lld\n", gone, static_cast<long long>(last - released));
  return 0;
}

}  // namespace
}  // namespace lastcall::bench

int main(int argc, char** argv) {
  std::string_view const task = argc > 1 ? argv[1] : "";
  if (task == "exit") {
    return 0;
  }
  if (task == "signals") {
    return lastcall::bench::signals();
  }
  if (task == "orphans" && argc > 2) {
    return lastcall::bench::orphans(std::atoi(argv[2]));
  }
  std::fprintf(stderr, "usage: bench_child exit|signals|orphans COUNT\n");
  return 2;
}
