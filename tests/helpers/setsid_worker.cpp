// An engine whose worker left session and group, and ignores TERM; the main process ends with code
// 0 on TERM, or, with an argument, ignores it as well. Prints `ready`, then the worker's number.
#include <signal.h>

#include "say.hpp"

int main(int argc, char**) {
  int ready[2];
  if (pipe(ready) != 0) {
    return 98;
  }
  pid_t const worker = fork();
  if (worker == 0) {
    setsid();
    signal(SIGTERM, SIG_IGN);
    close(ready[1]);
    close(ready[0]);
    stay();
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 0) {
    return 98;
  }
  if (argc > 1) {
    signal(SIGTERM, SIG_IGN);
  } else {
    signal(SIGTERM, [](int) { _exit(0); });
  }
  alarm(120);  // if nothing ends it
  say("ready");
  say(std::to_string(worker));
  stay();
}
