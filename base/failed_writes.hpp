// A write that fails is an error for its caller and does not end the program: a peer that has left
// (SIGPIPE), or a file, such as the log, that may not grow any more (SIGXFSZ, RLIMIT_FSIZE).
//
// Thread rule: it applies to the whole process. Source: signal(7), write(2), setrlimit(2).
#pragma once

#include <signal.h>

namespace lastcall {

/// Programs that are executed get the default actions only if their launcher restores them.
inline void let_failed_writes_be_errors() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace lastcall
