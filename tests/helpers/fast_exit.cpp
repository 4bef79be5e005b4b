// Lives for less than a millisecond and ends with the given code, or by `-SIGNAL`.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int const code = argc > 1 ? atoi(argv[1]) : 0;
  if (code < 0) {
    signal(-code, SIG_DFL);  // a sanitizer has a handler of its own for some
    raise(-code);
  }
  _exit(code);
}
