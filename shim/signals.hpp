// Handles a signal at the shim: it is passed on to the command, or begins a stop.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; signal(7).
#pragma once

#include <sys/types.h>

#include "shim/parts.hpp"

namespace lastcall::shim {

/// `sender` is 0 if it is outside of the container. `code` is the code in siginfo_t.
void take_signal(Parts& s, int signal, pid_t sender, int code);

}  // namespace lastcall::shim
