// The rest of the engine's tree, once its main process has ended or must end: it is walked,
// signalled and killed.
//
// Rules:
//  1. Each process gets one stop signal, like the main one, when it becomes a child of the shim: a
//     server that a shell started ends its own workers, and a worker gets a signal when its parent
//     is gone.
//  2. A resource tracker gets no signal, and is killed after all others have gone.
//  3. Every reap causes another walk, but walks never take more than half of the time, and while
//     KILLs are sent no more than a fifth of it if children can be listed.
//  4. Processes that fork and end faster than a walk are caught as children of the shim, at each
//     reap. While such processes are reaped, a walk that finds nothing proves nothing: the rest is
//     empty once the shim has no child, or has only the spared ones and has reaped nothing for a
//     moment.
//  5. Without /proc only the process group of the main process is known, and it is killed without a
//     stop signal.
#pragma once

#include <optional>
#include <string_view>

#include <sys/types.h>

#include "base/instant.hpp"
#include "shim/process_tree.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

class RestOfTree {
 public:
  enum class Treatment : unsigned char { look, ask, kill };

  /// A child has been reaped. `is_orphan`: the shim did not start it.
  void reaped(pid_t child, bool is_orphan);
  /// The shim has no child, and so no descendant.
  void note_childless(bool childless) { childless_ = childless; }
  bool is_childless() const { return childless_; }

  /// Does one walk. `signal` is the stop signal.
  void treat(Treatment treatment, int signal, pid_t spared, bool kills_trackers);
  /// Sends KILL to children if one has been reaped since the last time, because they may keep
  /// forking.
  void chase(pid_t spared, bool kills_trackers);
  /// The last walk was before the end of the main process, so another one is needed.
  void look_anew() { looked_at_.reset(); }
  /// From here on every process that appears is killed.
  void condemn() { condemned_ = true; }
  bool is_condemned() const { return condemned_; }

  /// Whether nothing but the spared ones is left, as far as can be known. `spared` is 0 if there
  /// are none.
  bool is_empty(pid_t spared) const;
  /// The time since which nothing but resource trackers is left.
  std::optional<Instant> only_trackers_since() const { return only_trackers_since_; }
  /// The time of the next walk if nothing was reaped for `gap`; absent if the rest is empty.
  std::optional<Instant> next_look(Duration gap, pid_t spared) const;

  int living() const { return childless_ ? 0 : tally_.living; }
  /// The names as a JSON array; empty if there are too many.
  std::string_view names() const { return names_.view(); }
  bool was_looked_at() const { return childless_ || looked_at_.has_value(); }
  bool is_blind() const { return tally_.blind; }

 private:
  bool is_quiet() const;

  Asked asked_;
  Tally tally_;
  std::optional<Instant> looked_at_;
  Duration cost_{};
  std::optional<Instant> only_trackers_since_;
  std::optional<Instant> orphan_at_;  // time of the last reap
  bool look_wanted_ = false;
  bool chase_wanted_ = false;
  bool lists_children_ = false;
  bool childless_ = false;
  bool condemned_ = false;
  TextOf<kLongestNames> names_;
};

}  // namespace lastcall::shim
