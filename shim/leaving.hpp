// The end: a moment for the supervisor's own end, KILL for what is left, the report.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; specification, 'Exit codes'.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// The exit code is fixed.
void leave(Parts& s);
/// After what had ended by then is reaped. A 137 for a command that needed no KILL is not obeyed,
/// and the supervisor is told of the end at once, before any walk of /proc: it says so, too.
void heed_exit_order(Parts& s);
/// Nothing is left to wait for.
bool has_left(Parts& s);
/// Exit code.
int finish(Parts& s);

}  // namespace lastcall::shim
