// The times of the rounds of checks, which show when the supervisor itself was not running.
//
// Invariant: rounds run at fixed times, so a late round shows that the supervisor was not running.
//
// Thread rule: the loop's thread. Source: specification, 'Checks'.
#pragma once

#include <optional>

#include "core/instant.hpp"
#include "probes/checks/check.hpp"

namespace lastcall::runtime {

class CheckRounds {
 public:
  explicit CheckRounds(probes::Duration interval) : interval_(interval) {}

  /// Rounds begin, or end: the next one is never late.
  void restart() { last_.reset(); }
  /// A round begins. Returns how late it is; less than 0 if it is early, as the rounds of a start
  /// are.
  lifecycle::Duration next(lifecycle::Instant now) {
    lifecycle::Duration const late = last_ ? now - *last_ - interval_ : lifecycle::Duration{0};
    last_ = now;
    return late;
  }

 private:
  probes::Duration const interval_;
  std::optional<lifecycle::Instant> last_;
};

}  // namespace lastcall::runtime
