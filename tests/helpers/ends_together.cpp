// Two children and their parent end in the same moment, the parent with code 3.
#include <unistd.h>

int main() {
  int gate[2];
  if (pipe(gate) != 0) {
    return 98;
  }
  for (int i = 0; i < 2; ++i) {
    if (fork() == 0) {
      close(gate[1]);
      char byte = 0;
      _exit(read(gate[0], &byte, 1) < 0);
    }
  }
  _exit(3);  // closes the gate, and with it both children
}
