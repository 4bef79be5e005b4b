// When to log what a starting engine still lacks.
//
// Rules: 1. the first time after kFirst, and then each time that its age has doubled: an hour of
// loading is six lines; 2. one that starts again begins from zero. Pure values on an explicit
// `now`.
// Source: specification, 'Checks'.
#pragma once

#include <optional>

#include "base/instant.hpp"

namespace lastcall::runtime {

class SlowStart {
 public:
  static constexpr Duration kFirst{60'000};

  /// How long it has been starting, if that must be logged now.
  std::optional<Duration> reminder(Instant now, bool is_starting) {
    if (!is_starting) {
      forget();
      return std::nullopt;
    }
    if (!since_) {
      since_ = now;
      next_ = kFirst;
    }
    Duration const age = now - *since_;
    if (age < next_) {
      return std::nullopt;
    }
    next_ = age * 2;
    return age;
  }

  /// The engine is no longer watched.
  void forget() { since_.reset(); }

 private:
  std::optional<Instant> since_;
  Duration next_{};
};

}  // namespace lastcall::runtime
