// Records which stop signal came first, and which signal stops the command.
//
// Rules: 1. the first stop signal counts; later ones are passed on and change nothing; 2. the last
// order counts; 3. the rest of the tree gets the same signal as the main process, unless that was
// KILL. Pure values. Source: specification, 'Shim'.
#pragma once

#include <optional>

#include <signal.h>

#include "base/instant.hpp"

namespace lastcall::shim {

class StopOrder {
 public:
  /// The processes that the order applies to.
  enum class Reach : unsigned char { main, whole_tree };

  /// A stop signal has arrived. Returns true for the first one.
  bool came(int signal, Instant now) {
    if (came_ != 0) {
      return false;
    }
    came_ = signal;
    came_at_ = now;
    return true;
  }
  /// The stop signal that the shim received first; 0 if none came.
  int signal_at_us() const { return came_; }
  std::optional<Instant> came_at() const {
    return came_ != 0 ? std::optional(came_at_) : std::nullopt;
  }

  void ordered(int signal, bool for_whole_tree) {
    signal_ = signal;
    reach_ = for_whole_tree ? Reach::whole_tree : Reach::main;
  }
  /// No order came in time, so the shim chose the signal.
  void ours(int signal) { signal_ = signal; }
  int signal() const { return signal_; }
  Reach reach() const { return reach_; }
  /// The signal for the rest of the tree; `term`: the engine's own signal for TERM.
  int rest_signal(int term) const { return signal_ != 0 && signal_ != SIGKILL ? signal_ : term; }

 private:
  int came_ = 0;
  Instant came_at_{};
  int signal_ = 0;
  Reach reach_ = Reach::main;
};

}  // namespace lastcall::shim
