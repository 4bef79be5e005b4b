// Decides when a command that crashed is started again: `--restart`.
//
// Rules: 1. a crash is an end by a signal, or by a code other than 0 (the command is done) and 2
// (it cannot run as ordered); 2. after the first crash the command is started again at once, after
// the next ones in 0.1 s, doubling to 5 s, until a life has lasted 10 s; 3. a command that was
// ordered to end is never started again. Pure values on an explicit `now`. Source: specification,
// 'Run mode'.
#pragma once

#include <optional>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/restart_pause.hpp"

namespace lastcall::shim {

class Revival {
 public:
  void began(Instant now) {
    began_at_ = now;
    due_.reset();
  }
  /// The command ended this way; returns true if it has to be started again when that is due.
  bool wants(Ending ending, Instant now);
  bool is_due(Instant now) const { return due_ && now >= *due_; }
  std::optional<Instant> next_wake() const { return due_; }
  /// The command was ordered to end. Returns true if there was no process, but a start was due.
  bool give_up() {
    is_given_up_ = true;
    bool const was_due = due_.has_value();
    due_.reset();
    return was_due;
  }

 private:
  Instant began_at_{};
  std::optional<Instant> due_;
  Duration pause_{};  // before the next start
  bool is_given_up_ = false;
};

inline bool Revival::wants(Ending ending, Instant now) {
  bool const is_crash = ending.signal != 0 || (ending.code != 0 && ending.code != kExitUsage);
  if (!is_crash || is_given_up_) {
    return false;
  }
  pause_ = now - began_at_ >= kLivedWell ? Duration{} : pause_;
  due_ = now + pause_;
  pause_ = longer_pause(pause_);
  return true;
}

}  // namespace lastcall::shim
