// The order to a listener's thread to close, and the time that it has for what is under way.
//
// Thread rule: give() from any thread, everything else on the listener's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lastcall::probes {

class ClosingOrder {
 public:
  using Clock = std::chrono::steady_clock;

  void give(std::chrono::milliseconds linger) {
    linger_ms_ = linger.count();
    is_given_ = true;
  }

  /// True once: when the order is seen for the first time. The time counts from then.
  bool begins(Clock::time_point now) {
    if (!is_given_ || deadline_) {
      return false;
    }
    deadline_ = now + std::chrono::milliseconds{linger_ms_};
    return true;
  }
  /// Absent until begins() has been true.
  std::optional<Clock::time_point> deadline() const { return deadline_; }

 private:
  std::atomic<bool> is_given_ = false;
  std::atomic<std::int64_t> linger_ms_ = 0;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace lastcall::probes
