// The end of the shim: it waits for the supervisor's own end (a moment, or until D if that has a
// stop to carry out, see departure.hpp), kills what is left, and reports.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; specification, 'Exit codes'.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Begins the end. An order to exit or a failure of the shim has given the exit code; without them
/// it is found in finish(), from the will or from how the command ended.
void leave(Parts& s);
/// The order to exit of a supervisor that had a stop to carry out when the shim was leaving. Its
/// report has what it did, and takes the place of the shim's own if both have the same code.
void receive_late_exit(Parts& s, Order const& order);
/// Call it after processes that had ended are reaped. A 137 for a command that needed no KILL is
/// not obeyed. The supervisor is notified of the end at once, before any walk of /proc, so that its
/// report contains that end, too.
void heed_exit_order(Parts& s);
/// Whether nothing is left to wait for.
bool has_left(Parts& s);
/// Reports the end. Returns the exit code.
int finish(Parts& s);

}  // namespace lastcall::shim
