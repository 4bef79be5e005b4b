// Since when there has been no supervisor, for requests that wait for its admission.
//
// Rules:
//  1. A connection without a welcome does not count as a supervisor, so neither its begin nor its
//     end changes anything.
//  2. A supervisor acknowledges each question at once. If it has not done so for kSilentAfter, it
//     hangs, and counts as absent until it answers again.
//
// Thread rule: under the session's mutex. Source: Client, rule 2.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "sdk/cpp/connection.hpp"

namespace lastcall::sdk {

inline constexpr std::chrono::seconds kUnadmittedAfter{1};
inline constexpr std::chrono::seconds kSilentAfter{2};
/// An answer may have arrived while this process itself hung: it has this time to be read.
inline constexpr std::chrono::milliseconds kReadWithin{100};

class SupervisorAbsence {
 public:
  void welcomed() { is_welcomed_ = true; }
  void lost(Clock::time_point now) {
    answered();
    if (std::exchange(is_welcomed_, false)) {
      since_ = now;
    }
  }
  void answered() {
    late_since_.reset();
    is_silent_ = false;
  }
  /// Finds out whether the supervisor still answers. `asked_at` is the time of the oldest question
  /// without an answer; the result is when to call this again, if at all.
  std::optional<Clock::time_point> listen(std::optional<Clock::time_point> asked_at,
                                          Clock::time_point now) {
    if (!is_welcomed_ || is_silent_ || !asked_at) {
      return std::nullopt;
    }
    if (now < *asked_at + kSilentAfter) {
      return *asked_at + kSilentAfter;
    }
    late_since_ = late_since_.value_or(now);
    is_silent_ = now >= *late_since_ + kReadWithin;
    return is_silent_ ? std::nullopt : std::optional(*late_since_ + kReadWithin);
  }
  /// When requests start without admission; absent if there is a supervisor.
  std::optional<Clock::time_point> unadmitted_at() const {
    if (is_silent_) {
      return *late_since_;
    }
    return is_welcomed_ ? std::nullopt : std::optional(since_ + kUnadmittedAfter);
  }

 private:
  bool is_welcomed_{};
  bool is_silent_{};
  std::optional<Clock::time_point> late_since_;
  Clock::time_point since_{Clock::now()};
};

}  // namespace lastcall::sdk
