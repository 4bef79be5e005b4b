// Decides when to try to reach the supervisor, and which failures to report.
//
// Rules: 1. after a loss there is an attempt every 50 ms for one second, then every 500 ms; 2.
// after a refusal as `busy`, every 100 ms; 3. a failure is reported once; a missing listener is not
// reported during the second that a supervisor needs to start. Pure values on an explicit `now`.
#pragma once

#include <algorithm>
#include <optional>

#include <errno.h>

#include "base/instant.hpp"

namespace lastcall::shim {

class Attempts {
 public:
  bool is_due(Instant now) const { return now >= next_; }
  Instant next() const { return next_; }

  void begin(Instant now) { looking_since_ = looking_since_.value_or(now); }
  void succeeded() { trouble_ = 0; }
  void failed(Instant now, int error) {
    trouble_ = error;
    next_ = now + usual_pause(now);
  }
  /// This connection was refused, because another shim's stop has not finished.
  void refused_as_busy() { refusal_ = Refusal::busy; }
  void lost(Instant now) {
    begin(now);
    next_ = now + (refusal_ == Refusal::busy ? kBusyRetry : usual_pause(now));
    refusal_ = Refusal::none;
  }
  void welcomed() {
    reported_trouble_ = 0;
    looking_since_.reset();
  }
  /// A supervisor is about to listen: the second of frequent attempts starts again.
  void look_eagerly(Instant now) {
    looking_since_ = now;
    next_ = std::min(next_, now + kEagerRetry);
  }

  /// Whether the last attempt failed for another reason than a missing listener, so that it is
  /// unknown whether a process listens.
  bool is_kept_out() const { return trouble_ != 0 && !is_nobody_there(trouble_); }

  /// The errno of the last attempt if it differs from the one reported before, else 0.
  int take_trouble(Instant now) {
    bool const is_usual = is_early(now) && is_nobody_there(trouble_);
    if (trouble_ == 0 || trouble_ == reported_trouble_ || is_usual) {
      return 0;
    }
    reported_trouble_ = trouble_;
    return trouble_;
  }

 private:
  enum class Refusal : unsigned char { none, busy };

  static constexpr Duration kEagerFor{1'000};
  static constexpr Duration kEagerRetry{50};
  static constexpr Duration kPatientRetry{500};
  static constexpr Duration kBusyRetry{100};

  /// Failures that are usual while a supervisor starts, or is busy.
  static bool is_nobody_there(int error) {
    return error == ENOENT || error == ECONNREFUSED || error == EAGAIN;
  }
  bool is_early(Instant now) const { return looking_since_ && now - *looking_since_ < kEagerFor; }
  Duration usual_pause(Instant now) const { return is_early(now) ? kEagerRetry : kPatientRetry; }

  Instant next_ = kAtOnce;
  std::optional<Instant> looking_since_;
  Refusal refusal_ = Refusal::none;
  int trouble_ = 0;           // errno of the last attempt
  int reported_trouble_ = 0;  // the last one that was reported
};

}  // namespace lastcall::shim
