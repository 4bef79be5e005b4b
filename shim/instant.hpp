// Time in the shim: CLOCK_MONOTONIC in whole milliseconds, the unit of every `*_at_ms` on the wire.
//
// Rules that decide take `now` as an argument; only the loop reads the clock, once per wake-up. The
// wall clock is never read, so that setting it changes no deadline. No thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>

#include <time.h>

namespace lastcall::shim {

using Duration = std::chrono::milliseconds;

/// Tag of the time line. It has no now() on purpose: see monotonic_now().
struct MonotonicLine {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicLine, Duration>;
  static constexpr bool is_steady = true;
};

using Instant = MonotonicLine::time_point;

constexpr Instant instant_from_ms(std::int64_t ms) {
  return Instant{Duration{ms}};
}
constexpr std::int64_t to_ms(Instant at) {
  return at.time_since_epoch().count();
}

/// Sooner than anything: 'at once' where an instant is asked for.
inline constexpr Instant kAtOnce{Duration{0}};

inline Instant monotonic_now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return instant_from_ms(std::int64_t{ts.tv_sec} * 1000 + ts.tv_nsec / 1'000'000);
}

}  // namespace lastcall::shim
