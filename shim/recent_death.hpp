// The first of the engine's processes that ended by itself in the last seconds, for a supervisor
// that connects again: the supervisor may have been lost because of a process that died with it.
// Pure values.
#pragma once

#include <optional>

#include "base/instant.hpp"
#include "shim/tree_watch.hpp"

namespace lastcall::shim {

class RecentDeath {
 public:
  void note(ProcessNews const& death, Instant now) {
    if (recent(now) == nullptr) {
      first_ = death;
    }
  }
  /// Null if there is none.
  ProcessNews const* recent(Instant now) const {
    return first_ && now - first_->at <= kAge ? &*first_ : nullptr;
  }

 private:
  static constexpr Duration kAge{10'000};

  std::optional<ProcessNews> first_;
};

}  // namespace lastcall::shim
