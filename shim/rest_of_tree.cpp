#include "shim/rest_of_tree.hpp"

#include <algorithm>

#include <signal.h>

namespace lastcall::shim {

void RestOfTree::reaped(pid_t child) {
  look_wanted_ = true;
  asked_.remove(child);
}

void RestOfTree::treat(Treatment treatment, int signal, pid_t spared, bool kills_trackers) {
  Instant const began = monotonic_now();
  TreeOrder order{.spared = spared, .spares_trackers = !kills_trackers, .names = &names_};
  if (treatment != Treatment::look) {
    order.signal = treatment == Treatment::kill ? SIGKILL : signal;
    order.only_children = treatment == Treatment::ask ? &asked_ : nullptr;
  }
  names_.clear();
  tally_ = walk_tree(order);
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

bool RestOfTree::is_empty() const {
  return childless_ || (looked_at_ && tally_.empty() && !tally_.blind);
}

std::optional<Instant> RestOfTree::next_look(Duration gap) const {
  if (!looked_at_) {
    return kAtOnce;
  }
  if (!look_wanted_ && is_empty()) {
    return std::nullopt;
  }
  return *looked_at_ + (look_wanted_ ? cost_ : std::max(gap, cost_));
}

}  // namespace lastcall::shim
