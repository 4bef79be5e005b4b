// The last announcements, so that a change is announced once: the engine's verdict, the endpoints
// that hold a drain, and whether the engine is busy.
//
// Owned by the core's thread. Source: specification, 'Phase 2'.
#pragma once

#include <cstdint>

#include "core/action.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

class Notified {
 public:
  /// Each returns whether this is a change, and then counts it as announced.
  bool verdict(Verdict verdict) { return replace(verdict_, verdict); }
  bool busy(bool busy) { return replace(busy_, busy); }
  bool graceful(std::uint32_t active) {
    bool const is_news = replace(graceful_, active);
    completion_is_due_ = completion_is_due_ || is_news;
    return is_news;
  }
  /// A drain begins, and this number of endpoints holds it.
  void begin_drain(std::uint32_t active) {
    graceful_ = active;
    completion_is_due_ = active > 0;
  }
  /// Returns true once for each time that the last endpoint has completed.
  bool completion() { return graceful_ == 0 && replace(completion_is_due_, false); }

  bool is_busy() const { return busy_; }
  Verdict verdict() const { return verdict_; }
  std::uint32_t graceful() const { return graceful_; }

  void fingerprint(Mixer& m) const { m.put(busy_); }

 private:
  template <typename T>
  static bool replace(T& notified, T now) {
    bool const is_news = notified != now;
    notified = now;
    return is_news;
  }

  Verdict verdict_ = Verdict::starting;
  std::uint32_t graceful_ = 0;
  bool completion_is_due_ = false;  // the last endpoint's completion is not announced yet
  bool busy_ = false;
};

}  // namespace lastcall::lifecycle
