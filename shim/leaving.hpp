// The end: a moment for the supervisor's own end, KILL for what is left, the report.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; specification, 'Exit codes'.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// The exit code is fixed.
void leave(Parts& s);
/// Called after the processes that had ended by then are reaped. A 137 for a command that needed no
/// KILL is not obeyed, and the supervisor is notified of the end at once, before any walk of /proc:
/// its report has it, too.
void heed_exit_order(Parts& s);
/// Nothing is left to wait for.
bool has_left(Parts& s);
/// Exit code.
int finish(Parts& s);

}  // namespace lastcall::shim
