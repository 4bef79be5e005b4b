// The meaning of a signal at the shim: passed on to the command, or a stop.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; signal(7).
#pragma once

#include <sys/types.h>

#include "shim/parts.hpp"

namespace lastcall::shim {

/// `sender`: 0 from outside the container. `code`: of siginfo_t.
void take_signal(Parts& s, int signal, pid_t sender, int code);

}  // namespace lastcall::shim
