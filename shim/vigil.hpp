// Watches whether a supervisor that the shim started still answers.
//
// Rules: 1. after every 5 s without a line from it, the shim requests one, if there is a
// connection; a supervisor that froze before it listened sends nothing; 2. after four more such
// times without a line, 20 s after the first question, it counts as frozen; the limit of a
// kubelet's liveness probe would not be longer; 3. a round during which the shim itself did not run
// (because its container was frozen or the machine was suspended) proves nothing, and the count
// starts again. Pure values on an explicit `now`. Source: specification, 'Run mode'.
#pragma once

#include <optional>

#include "base/instant.hpp"

namespace lastcall::shim {

class Vigil {
 public:
  enum class Need : unsigned char { nothing, ask, give_up };

  /// The supervisor was started, or has connected.
  void begin(Instant now) {
    silent_rounds_ = 0;
    next_ = now + kRound;
  }
  /// There is no supervisor any more.
  void end() { next_.reset(); }
  void received() { silent_rounds_ = 0; }
  Need look(Instant now);
  std::optional<Instant> next_wake() const { return next_; }

 private:
  static constexpr Duration kRound{5'000};
  static constexpr Duration kOwnAbsence{1'000};
  static constexpr int kPatience = 4;

  std::optional<Instant> next_;
  int silent_rounds_ = 0;
};

inline Vigil::Need Vigil::look(Instant now) {
  if (!next_ || now < *next_) {
    return Need::nothing;
  }
  bool const was_away = now - *next_ > kOwnAbsence;
  silent_rounds_ = was_away ? 1 : silent_rounds_ + 1;
  next_ = now + kRound;
  if (silent_rounds_ > kPatience) {
    return Need::give_up;
  }
  return silent_rounds_ == 1 ? Need::ask : Need::nothing;
}

}  // namespace lastcall::shim
