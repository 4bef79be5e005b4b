// Every descendant of the shim, found by walking /proc, in whatever session or group it is.
//
// Rules:
//  1. Descent is by parent: an orphan is re-parented to the shim (PID 1, or subreaper), so nothing
//     can leave the tree. Never kill(-1) and never a group: in a shared PID namespace, on a host
//     and in run mode others live beside us.
//  2. The supervisor that the shim started, its session and its descendants are spared.
//  3. A direct child's number cannot be reused before we reap it, and nothing is reaped in a walk.
//  4. The table lives for one walk; at rest it costs nothing.
// Source: proc(5), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <sys/types.h>

#include "shim/text.hpp"

namespace lastcall::shim {

struct Tally {
  int living = 0;      // descendants that are no zombies
  int zombies = 0;     // seen but not reaped yet, by us or by their own parent
  bool blind = false;  // /proc could not be read: nothing is known
  bool empty() const { return living + zombies == 0; }
};

/// Sends `signal` (0: none) to every living descendant but the spared ones (0: nobody is spared).
Tally signal_tree(int signal, pid_t spared);

/// `pid name state`, for the log, of what is still there; at most a few.
void describe_tree(Text& out, pid_t spared);

}  // namespace lastcall::shim
