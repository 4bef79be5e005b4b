// Handles the end of a child, and starts some children again.
//
// Rule: the lines that a child wrote before its end are read before that end is handled.
// Thread rule: there is one thread. Source: specification, 'Run mode'; wait(2).
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Handles every child that has ended or stopped.
void reap(Parts& s);
/// Restarts a child that is due, and kills a supervisor that no longer answers.
void tend_children(Parts& s);

}  // namespace lastcall::shim
