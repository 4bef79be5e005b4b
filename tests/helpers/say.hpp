// How a helper notifies the test that it is ready, with one line on stdout, unbuffered; and how it
// stays until a signal ends it.
#pragma once

#include <string>

#include <unistd.h>

inline void say(std::string const& line) {
  std::string const text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) {
    _exit(99);
  }
}

[[noreturn]] inline void stay() {
  for (;;) {
    pause();
  }
}

[[noreturn]] inline void say_ready_and_stay() {
  alarm(120);  // if nothing ends it
  say("ready");
  stay();
}
