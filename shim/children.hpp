// The meaning of a child's end, and which child is started again.
//
// Rule: the lines that a child of ours wrote before its end come first. Thread rule: there is one
// thread. Source: specification, 'Run mode'; wait(2).
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Every child that has ended, or stopped.
void reap(Parts& s);
/// Restarts a child that is due; gives up a supervisor that no longer answers.
void tend_children(Parts& s);

}  // namespace lastcall::shim
