// Leaves a grandchild that holds stdout open and ignores TERM, and ends with code 0 on TERM.
#include <signal.h>
#include <sys/wait.h>

#include "say.hpp"

int main() {
  pid_t const middle = fork();
  if (middle == 0) {
    if (fork() == 0) {
      setsid();
      signal(SIGTERM, SIG_IGN);
      for (;;) {
        pause();
      }
    }
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  signal(SIGTERM, [](int) { _exit(0); });
  alarm(120);  // if nothing ends it
  say("ready");
  for (;;) {
    pause();
  }
}
