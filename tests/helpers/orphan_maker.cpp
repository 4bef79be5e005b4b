// Leaves `argv[1]` (100) orphans that sleep for 0.3 s, reports it, and stays until TERM (code 0).
// With a second argument the orphans ignore TERM and stay as long as it does.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "say.hpp"

int main(int argc, char** argv) {
  int const count = argc > 1 ? atoi(argv[1]) : 100;
  bool const stubborn = argc > 2;
  for (int i = 0; i < count; ++i) {
    pid_t const middle = fork();
    if (middle == 0) {
      if (fork() == 0) {
        signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
        usleep(stubborn ? 60'000'000 : 300'000);
      }
      _exit(0);
    }
    waitpid(middle, nullptr, 0);
  }
  signal(SIGTERM, [](int) { _exit(0); });
  say_ready_and_stay();
}
