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
      stay();
    }
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  signal(SIGTERM, [](int) { _exit(0); });
  say_ready_and_stay();
}
