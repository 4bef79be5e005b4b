// Carries out the state table.
//
// Thread rule: there is one thread. Source: state_table.hpp.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// The only writer of the state, with give_up().
void happen(Parts& s, Event event);
/// Carries out everything that is due by the rules of time.
void apply_due_rules(Parts& s);
/// The supervisor that the shim started has reported why it cannot run.
void refuse_start(Parts& s, Ending ending);
/// Ends a shim that has started nothing and will start nothing.
void give_up(Parts& s, int code);

}  // namespace lastcall::shim
