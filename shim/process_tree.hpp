// Every descendant of the shim, found by walking /proc, whatever session or group it is in.
//
// Rules:
//  1. Descent is by parent: an orphan is re-parented to the shim (PID 1, or subreaper), so nothing
//     can leave the tree. A walk signals processes one by one, never by kill(-1) or by their group:
//     in a shared PID namespace, on a host and in run mode, other processes live beside the shim.
//  2. The supervisor that the shim started, its session and its descendants are spared.
//  3. The process id of a direct child cannot be reused before the shim reaps it, and nothing is
//     reaped during a walk.
//  4. The table exists for one walk; at rest it costs nothing.
//  5. A resource tracker of Python's multiprocessing is killed only if the order includes it: it
//     removes the shared memory of the processes that were killed, and then ends by itself.
// Source: proc(5), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <sys/types.h>

#include "shim/name_list.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

struct Tally {
  int living = 0;      // descendants that are not zombies, including resource trackers
  int trackers = 0;    // resource trackers among them
  int zombies = 0;     // seen but not reaped yet, by us or by their own parent
  bool blind = false;  // /proc could not be read, and nothing is known
  bool empty() const { return living + zombies == 0; }
};

/// Children that got the stop signal, so that none gets it twice. Children beyond the capacity do
/// not get it, and are ended by KILL.
class Asked {
 public:
  /// Returns true if the child was not yet among them.
  bool add(pid_t pid);
  void remove(pid_t pid);

 private:
  static constexpr std::size_t kMost = 256;
  pid_t pids_[kMost] = {};
  std::size_t count_ = 0;
};

/// The actions of a walk on each living descendant except the spared ones.
struct TreeOrder {
  int signal = 0;                  // 0: none
  pid_t spared = 0;                // 0: none
  bool spares_trackers = false;    // the signal does not go to them; they are counted
  Asked* only_children = nullptr;  // the signal and CONT go to children that it does not contain
  NameList* names = nullptr;       // receives the names of the processes that were met
};

Tally walk_tree(TreeOrder const& order);

/// Sends `signal` to every living descendant except the spared ones.
inline Tally signal_tree(int signal, pid_t spared) {
  return walk_tree({.signal = signal, .spared = spared});
}

/// Sends KILL to the shim's own children except the spared ones and, if they are to be spared,
/// resource trackers. An orphan becomes the shim's child as soon as its parent ends, so this
/// catches a chain of processes that fork and end faster than a walk. Returns false if the system
/// has no list of children (CONFIG_PROC_CHILDREN).
bool kill_children(pid_t spared, bool spares_trackers);

/// Calls `visit(context, pid)` for every living descendant except the spared ones.
void visit_tree(pid_t spared, void (*visit)(void* context, pid_t pid), void* context);

/// Lists a few of the remaining processes as `pid name state`, for the log.
void describe_tree(Text& out, pid_t spared);

}  // namespace lastcall::shim
