// Every descendant of the shim, found by walking /proc, in whatever session or group it is.
//
// Rules:
//  1. Descent is by parent: an orphan is re-parented to the shim (PID 1, or subreaper), so nothing
//     can leave the tree. Never kill(-1) and never a group: in a shared PID namespace, on a host
//     and in run mode other processes live beside us.
//  2. The supervisor that the shim started, its session and its descendants are spared.
//  3. A direct child's number cannot be reused before we reap it, and nothing is reaped in a walk.
//  4. The table lives for one walk; at rest it costs nothing.
//  5. A resource tracker of Python's multiprocessing is killed only where the order says so: it
//     removes the shared memory of those that were killed, and then ends by itself.
// Source: proc(5), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <sys/types.h>

#include "shim/name_list.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

struct Tally {
  int living = 0;      // descendants that are no zombies, resource trackers among them
  int trackers = 0;    // of these
  int zombies = 0;     // seen but not reaped yet, by us or by their own parent
  bool blind = false;  // /proc could not be read: nothing is known
  bool empty() const { return living + zombies == 0; }
};

/// Children of ours that were asked to end, so that none is asked twice. One more than it can hold
/// is not asked: KILL finds it.
class Asked {
 public:
  /// True: not yet among them, and now it is.
  bool add(pid_t pid);
  void remove(pid_t pid);

 private:
  static constexpr std::size_t kMost = 256;
  pid_t pids_[kMost] = {};
  std::size_t count_ = 0;
};

/// The effect of a walk on each living descendant but the spared ones.
struct TreeOrder {
  int signal = 0;                // 0: none
  pid_t spared = 0;              // 0: none
  bool spares_trackers = false;  // from the signal; they are counted
  Asked* only_children =
      nullptr;                // the signal and CONT go to children of ours that it has not seen
  NameList* names = nullptr;  // of those that were met
};

Tally walk_tree(TreeOrder const& order);

/// Sends `signal` to every living descendant but the spared ones.
inline Tally signal_tree(int signal, pid_t spared) {
  return walk_tree({.signal = signal, .spared = spared});
}

/// KILL to our own children but the spared ones and, unless ordered, resource trackers. An orphan
/// is a child of ours the moment that its parent ends, so that a chain of processes which fork and
/// end faster than a walk is met here. False: the system has no such list (CONFIG_PROC_CHILDREN).
bool kill_children(pid_t spared, bool spares_trackers);

/// Calls `visit(context, pid)` for every living descendant but the spared ones.
void visit_tree(pid_t spared, void (*visit)(void* context, pid_t pid), void* context);

/// `pid name state`, for the log, of what is still there; at most a few.
void describe_tree(Text& out, pid_t spared);

}  // namespace lastcall::shim
