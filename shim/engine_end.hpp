// The end of the command: when its main process ended, whether a stop was under way then, when its
// tree was gone, and how much of that was reported to the supervisor.
//
// Rules: 1. if a stop begins after the main process has ended, that end does not become a graceful
// one; 2. the end is reported once, and after it each change of the tree. Pure values.
// Source: specification, 'Exit codes'.
#pragma once

#include <optional>

#include "base/instant.hpp"

namespace lastcall::shim {

class EngineEnd {
 public:
  void main_ended(Instant now, bool in_stop) {
    ended_at_ = now;
    in_stop_ = in_stop;
  }
  /// Nothing will be started: a stop began before the command was started.
  void stood_down(Instant now) { ended_at_ = now; }
  Instant at() const { return ended_at_; }
  bool was_in_stop() const { return in_stop_; }

  void tree_ended(Instant now) { tree_ended_at_ = tree_ended_at_.value_or(now); }
  std::optional<Instant> tree_ended_at() const { return tree_ended_at_; }

  /// Records that the end is reported. Returns true the first time.
  bool report() {
    bool const is_first = reported_ == Reported::nothing;
    reported_ = Reported::end;
    return is_first;
  }

 private:
  enum class Reported : unsigned char { nothing, end };

  Instant ended_at_{};
  bool in_stop_ = false;
  std::optional<Instant> tree_ended_at_;
  Reported reported_ = Reported::nothing;
};

}  // namespace lastcall::shim
