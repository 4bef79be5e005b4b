// Decides when to log what a starting engine still lacks.
//
// Rules: 1. it is logged after kFirst, and then each time that the engine's age has doubled, so
// that an hour of loading makes six lines; 2. an engine that starts again begins from zero. Pure:
// time is an argument.
// Source: specification, 'Checks'.
#pragma once

#include <optional>

#include "base/instant.hpp"

namespace lastcall::runtime {

class SlowStart {
 public:
  static constexpr Duration kFirst{60'000};

  /// How long the engine has been starting, if that must be logged now; otherwise absent.
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

  /// Called when the engine is no longer watched.
  void forget() { since_.reset(); }

 private:
  std::optional<Instant> since_;
  Duration next_{};
};

}  // namespace lastcall::runtime
