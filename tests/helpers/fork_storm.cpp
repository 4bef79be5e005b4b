// Chains of processes that fork a successor and end, each in its own session, faster than a walk of
// /proc can list them. Ends by itself after 20 s, should nobody manage to end it.
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

}  // namespace

int main() {
  constexpr int kChains = 4;
  constexpr unsigned kLongest = 20;
  time_t const end = seconds() + kLongest;
  signal(SIGCHLD, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  for (int i = 0; i < kChains; ++i) {
    if (fork() == 0) {
      run_chain(end);
    }
  }
  alarm(kLongest);
  say("ready");
  for (;;) {
    pause();
  }
}
