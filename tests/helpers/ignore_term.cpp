// Ignores TERM; only KILL ends it.
#include <signal.h>

#include "say.hpp"

int main() {
  signal(SIGTERM, SIG_IGN);
  say_ready_and_stay();
}
