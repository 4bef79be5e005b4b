// What the end of a child means, and which child is started again.
//
// Rule: what a child of ours wrote before its end comes first. Thread rule: there is one thread.
// Source: specification, 'Run mode'; wait(2).
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Everybody who has ended, or stopped.
void reap(Parts& s);
/// Starts again who is due; gives a supervisor up that answers nothing any more.
void tend_children(Parts& s);

}  // namespace lastcall::shim
