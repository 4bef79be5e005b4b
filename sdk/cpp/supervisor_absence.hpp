// Since when there has been no supervisor, for requests that wait for its admission.
//
// Rule: a connection without a welcome does not count as a supervisor, so neither its begin nor its
// end changes anything.
//
// Thread rule: under the session's mutex. Source: Client, rule 2.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "sdk/cpp/connection.hpp"

namespace lastcall::sdk {

inline constexpr std::chrono::seconds kUnadmittedAfter{1};

class SupervisorAbsence {
 public:
  void welcomed() { is_welcomed_ = true; }
  void lost(Clock::time_point now) {
    if (std::exchange(is_welcomed_, false)) {
      since_ = now;
    }
  }
  /// When requests start without admission; absent if there is a supervisor.
  std::optional<Clock::time_point> unadmitted_at() const {
    return is_welcomed_ ? std::nullopt : std::optional(since_ + kUnadmittedAfter);
  }

 private:
  bool is_welcomed_{};
  Clock::time_point since_{Clock::now()};
};

}  // namespace lastcall::sdk
