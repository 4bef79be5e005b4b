// Ignores TERM; only KILL ends it.
#include <signal.h>

#include "say.hpp"

int main() {
  signal(SIGTERM, SIG_IGN);
  say("ready");
  for (;;) {
    pause();
  }
}
