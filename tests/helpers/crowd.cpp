// crowd NUMBER: so many processes that do nothing, which make each walk of /proc long; prints how
// many it has. They end with it: it is their parent, and they ask to be notified of its death.
#include <cstdlib>
#include <string>

#include <signal.h>
#include <sys/prctl.h>

#include "say.hpp"

int main(int argc, char** argv) {
  int const wanted = argc > 1 ? std::atoi(argv[1]) : 0;
  int made = 0;
  for (; made < wanted; ++made) {
    pid_t const child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      alarm(60);
      pause();
      _exit(0);
    }
    if (child < 0) {
      break;
    }
  }
  alarm(60);
  say(std::to_string(made));
  pause();
}
