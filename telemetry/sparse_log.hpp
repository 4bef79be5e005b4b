// Limits log lines that anybody can cause to one per period, and counts those that were left out
// since the last one.
//
// Pure: time is an argument. No thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/instant.hpp"

namespace lastcall::telemetry {

class SparseLog {
 public:
  explicit SparseLog(lifecycle::Duration period) : period_(period) {}

  /// Nothing if this line has to be left out; otherwise the number of lines left out before it.
  std::optional<std::uint64_t> due(lifecycle::Instant now) {
    if (last_ && now - *last_ < period_) {
      ++left_out_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(left_out_, 0);
  }

 private:
  lifecycle::Duration const period_;
  std::optional<lifecycle::Instant> last_;
  std::uint64_t left_out_ = 0;
};

}  // namespace lastcall::telemetry
