// Ignores TERM; only KILL ends it.
#include <signal.h>

#include "say.hpp"

int main() {
  signal(SIGTERM, SIG_IGN);
  alarm(120);  // if nothing ends it
  say("ready");
  for (;;) {
    pause();
  }
}
