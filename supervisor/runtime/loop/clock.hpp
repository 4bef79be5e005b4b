// The clock that the core must not have: CLOCK_MONOTONIC as lifecycle::Instant.
//
// Rules:
//  1. Whole milliseconds, rounded down, so that a timer set to an Instant never fires early.
//  2. steady_clock is CLOCK_MONOTONIC here, and its epoch is the kernel's: instants go over the
//     wire to the shim and the SDKs unchanged.
//
// No thread rule. Source: clock_gettime(2), libstdc++'s steady_clock.
#pragma once

#include <chrono>

#include "core/instant.hpp"

namespace lastcall::runtime {

inline lifecycle::Instant monotonic_now() {
  auto const since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return lifecycle::Instant{std::chrono::floor<lifecycle::Duration>(since_boot)};
}

constexpr std::chrono::steady_clock::time_point to_steady(lifecycle::Instant at) {
  return std::chrono::steady_clock::time_point{at.time_since_epoch()};
}

}  // namespace lastcall::runtime
