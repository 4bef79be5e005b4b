// Prints the number of every signal that it gets, `ready` first. Ends on a signal given as
// argument, with the code given after it, else never.
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "say.hpp"

int main(int argc, char** argv) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  int const fd = signalfd(-1, &all, SFD_CLOEXEC);
  say("ready");
  unsigned const last = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 0;
  for (;;) {
    signalfd_siginfo info{};
    if (read(fd, &info, sizeof info) != sizeof info) {
      return 98;
    }
    say(std::to_string(info.ssi_signo));
    if (info.ssi_signo == last) {
      return argc > 2 ? atoi(argv[2]) : 0;
    }
  }
}
