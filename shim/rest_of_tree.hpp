// The rest of the engine's tree once its main process has ended or must end: looked at, asked to
// end, killed.
//
// Rules:
//  1. As the main process before it, each is asked once, and when it becomes a child of ours: a
//     server behind a shell ends its own workers, and a worker is asked when its parent is gone.
//  2. A resource tracker is not asked, and is killed after all others had gone.
//  3. After a reap it is looked at again, but never more than half of the time is spent in walks,
//     and where children can be listed never more than a fifth of the time of the KILLs.
//  4. Processes that fork and end faster than a walk are met as children of ours, at each reap. A
//     walk that finds nothing proves nothing while they are reaped: none is left once we have no
//     child, or none but the spared ones and nothing was reaped for a moment.
//  5. Without /proc only the group of the main process is known: it is killed, nothing is asked.
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

  /// A child of ours has been reaped. `is_orphan`: not one that we started.
  void reaped(pid_t child, bool is_orphan);
  /// We have no child at all, so no descendant.
  void note_childless(bool childless) { childless_ = childless; }
  bool is_childless() const { return childless_; }

  /// One walk. `signal`: what asks.
  void treat(Treatment treatment, int signal, pid_t spared, bool kills_trackers);
  /// KILL to children of ours, if one has been reaped since the last time: they may fork on.
  void chase(pid_t spared, bool kills_trackers);
  /// The last look was from before the main process ended.
  void look_anew() { looked_at_.reset(); }
  /// Whatever comes is killed from here on.
  void condemn() { condemned_ = true; }
  bool is_condemned() const { return condemned_; }

  /// Nothing but the spared ones is left, as far as can be known. `spared`: 0 where there are none.
  bool is_empty(pid_t spared) const;
  /// Since when there is nothing but resource trackers.
  std::optional<Instant> only_trackers_since() const { return only_trackers_since_; }
  /// When it should be looked at again if nothing was reaped for `gap`; nothing: it is empty.
  std::optional<Instant> next_look(Duration gap, pid_t spared) const;

  int living() const { return childless_ ? 0 : tally_.living; }
  /// As a JSON array; empty: there are too many.
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
  std::optional<Instant> orphan_at_;  // the last one that was reaped
  bool look_wanted_ = false;
  bool chase_wanted_ = false;
  bool lists_children_ = false;
  bool childless_ = false;
  bool condemned_ = false;
  TextOf<kLongestNames> names_;
};

}  // namespace lastcall::shim
