// Detects steps of the loop that take long. No other peer is served during such a step.
//
// Rules:
//  1. Each step longer than kBearable is counted under its event. At most one line is logged per
//     kPause, with the number of steps that were not logged.
//  2. Time is measured by the wall clock, so a step may also be slow because the process had no
//     processor; many different events in a row show that.
//
// Thread rule: the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "telemetry/log.hpp"

namespace lastcall::runtime {

class SlowSteps {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBearable{5};
  static constexpr std::chrono::seconds kPause{10};

  SlowSteps(telemetry::Log& log, std::function<void(std::string_view event)> count)
      : log_(log), count_(std::move(count)) {}

  void took(std::string_view event, Clock::time_point began, Clock::time_point ended);

 private:
  telemetry::Log& log_;
  std::function<void(std::string_view event)> count_;
  std::optional<Clock::time_point> logged_at_;
  std::uint64_t passed_over_ = 0;
};

}  // namespace lastcall::runtime
