// The one clock: CLOCK_MONOTONIC as an Instant.
//
// Rules:
//  1. Whole milliseconds, rounded down, so that a timer set to an Instant never fires early.
//  2. Time is never measured with the wall clock, so setting that clock changes no deadline.
//
// Header-only: the shim uses it, too. No thread rule. Source: clock_gettime(2); libstdc++'s
// steady_clock is the same clock with the same epoch.
#pragma once

#include <chrono>
#include <cstdint>

#include <time.h>

#include "base/instant.hpp"

namespace lastcall {

inline Instant monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return instant_from_ms(std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000);
}

/// The same as what the relay calls a time: what has passed since the clock's epoch.
inline Duration monotonic_time() {
  return monotonic_now().time_since_epoch();
}

/// The unit of every `*_at_ms` of the IPC.
inline std::int64_t monotonic_ms() {
  return to_ms(monotonic_now());
}

constexpr std::chrono::steady_clock::time_point to_steady(Instant at) {
  return std::chrono::steady_clock::time_point{at.time_since_epoch()};
}

constexpr Instant from_steady(std::chrono::steady_clock::time_point at) {
  return Instant{std::chrono::floor<Duration>(at.time_since_epoch())};
}

}  // namespace lastcall
