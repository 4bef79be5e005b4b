// Chains of processes that fork a successor and end, each in its own session, faster than a walk of
// /proc can list them. Ends by itself after 20 s, if nothing manages to end it.
//   fork_storm                 4 chains whose links live for 1 ms behind their successor's birth
//   fork_storm MICROSECONDS    8 chains whose links live that long and end when they have forked
#include <cstdlib>

#include <signal.h>
#include <time.h>

#include "say.hpp"

namespace {

time_t seconds() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec;
}

[[noreturn]] void run_chain(time_t end) {
  while (seconds() < end) {
    if (fork() > 0) {
      _exit(0);
    }
    setsid();
    usleep(1'000);
  }
  _exit(0);
}

[[noreturn]] void run_late_chain(time_t end, unsigned microseconds) {
  while (seconds() < end) {
    usleep(microseconds);
    if (fork() > 0) {
      _exit(0);
    }
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  bool const is_late = argc > 1;
  int const chains = is_late ? 8 : 4;
  constexpr unsigned kLongest = 20;
  time_t const end = seconds() + kLongest;
  signal(SIGCHLD, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  for (int i = 0; i < chains; ++i) {
    if (fork() == 0) {
      if (is_late) {
        run_late_chain(end, static_cast<unsigned>(std::atoi(argv[1])));
      } else {
        run_chain(end);
      }
    }
  }
  alarm(kLongest);
  say("ready");
  for (;;) {
    pause();
  }
}
