// Time as an argument: instants on one time line, without a clock.
//
// An Instant counts CLOCK_MONOTONIC milliseconds, the unit of every `*_at_ms` on the wire, so that
// shim, supervisor and SDKs of one node compare instants without conversion. clock.hpp reads the
// clock. Header-only: the shim uses it, too. No thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lastcall {

using Duration = std::chrono::milliseconds;

/// The tag of the time line. It has no now() on purpose.
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
constexpr std::int64_t to_ms(Duration d) {
  return d.count();
}

/// Earlier than any real instant: means 'at once' where an instant is expected.
inline constexpr Instant kAtOnce{Duration{0}};

/// The earlier of two deadlines; an absent one means never.
constexpr std::optional<Instant> earlier_of(std::optional<Instant> a, std::optional<Instant> b) {
  if (!a || !b) {
    return a ? a : b;
  }
  return *a < *b ? a : b;
}

}  // namespace lastcall
