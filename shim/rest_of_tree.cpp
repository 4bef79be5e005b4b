#include "shim/rest_of_tree.hpp"

#include <algorithm>

#include <signal.h>

#include "base/clock.hpp"

namespace lastcall::shim {
namespace {

/// This is longer than a walk: a process that lives for so long is seen by a walk, and one that
/// does not is reaped within this time.
constexpr Duration kQuiet{20};
constexpr Duration kShortestPause{1};  // a shorter walk counts as this long
constexpr int kPausesOfChase = 4;

}  // namespace

void RestOfTree::reaped(pid_t child, bool is_orphan) {
  look_wanted_ = chase_wanted_ = true;
  asked_.remove(child);
  if (is_orphan) {
    orphan_at_ = monotonic_now();
  }
}

void RestOfTree::chase(pid_t spared, bool kills_trackers) {
  // This waits for the first walk, whose result is reported as the rest of the tree.
  if (chase_wanted_ && looked_at_) {
    chase_wanted_ = false;
    lists_children_ = kill_children(spared, !kills_trackers);
  }
}

void RestOfTree::treat(Treatment treatment, int signal, pid_t spared, bool kills_trackers) {
  Instant const began = monotonic_now();
  NameList names;
  TreeOrder order{.spared = spared, .spares_trackers = !kills_trackers, .names = &names};
  if (treatment != Treatment::look) {
    order.signal = treatment == Treatment::kill ? SIGKILL : signal;
    order.only_children = treatment == Treatment::ask ? &asked_ : nullptr;
  }
  tally_ = walk_tree(order);
  names.write(names_);
  looked_at_ = monotonic_now();
  cost_ = *looked_at_ - began;
  look_wanted_ = false;
  bool const only_trackers =
      !tally_.blind && tally_.trackers > 0 && tally_.living == tally_.trackers;
  if (!only_trackers) {
    only_trackers_since_.reset();
  } else if (!only_trackers_since_) {
    only_trackers_since_ = looked_at_;
  }
}

bool RestOfTree::is_quiet() const {
  return !orphan_at_ || *looked_at_ - *orphan_at_ >= kQuiet;
}

bool RestOfTree::is_empty(pid_t spared) const {
  bool const is_seen_empty = looked_at_ && tally_.empty() && !tally_.blind;
  return childless_ || (spared > 0 && is_seen_empty && !look_wanted_ && is_quiet());
}

std::optional<Instant> RestOfTree::next_look(Duration gap, pid_t spared) const {
  if (!looked_at_) {
    return kAtOnce;
  }
  if (is_empty(spared)) {
    return std::nullopt;
  }
  if (look_wanted_) {
    return *looked_at_ + std::max(cost_, kShortestPause) * (lists_children_ ? kPausesOfChase : 1);
  }
  return *looked_at_ + std::max(is_quiet() ? gap : kQuiet, cost_);
}

}  // namespace lastcall::shim
