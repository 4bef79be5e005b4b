// For a program that holds passwords, tokens, keys or requests: the kernel writes no core dump of
// it, however core dumps are configured, and another process of the same user can neither read its
// memory and environment through /proc nor attach a debugger. A program that it executes is
// dumpable again.
//
// No thread rule: it applies to the whole process. Source: PR_SET_DUMPABLE(2const), proc(5),
// ptrace(2).
#pragma once

#include <sys/prctl.h>

namespace lastcall {

inline void become_undumpable() {
  ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace lastcall
