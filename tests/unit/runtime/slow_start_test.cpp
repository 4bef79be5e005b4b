#include "supervisor/runtime/engine/slow_start.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

Instant at_second(std::int64_t second) {
  return instant_from_ms(7'000'000 + second * 1'000);
}

/// The ages that are logged of an engine that starts from then on, looked at once per `round`.
std::vector<std::int64_t> said(SlowStart& start, std::int64_t from, std::int64_t to,
                               std::int64_t round) {
  std::vector<std::int64_t> ages;
  for (std::int64_t second = from; second < to; second += round) {
    if (auto const age = start.reminder(at_second(second), true)) {
      ages.push_back(to_ms(*age) / 1'000);
    }
  }
  return ages;
}

TEST(SlowStart, An_hour_of_loading_is_logged_at_intervals_that_double) {
  SlowStart start;
  EXPECT_EQ(said(start, 0, 3'601, 1), (std::vector<std::int64_t>{60, 120, 240, 480, 960, 1'920}));
}

TEST(SlowStart, A_late_round_logs_the_true_age_and_the_next_is_counted_from_there) {
  SlowStart start;
  EXPECT_EQ(said(start, 0, 1'000, 50), (std::vector<std::int64_t>{100, 200, 400, 800}));
}

TEST(SlowStart, An_engine_that_starts_again_begins_anew) {
  SlowStart start;
  EXPECT_EQ(said(start, 0, 130, 1), (std::vector<std::int64_t>{60, 120}));
  EXPECT_EQ(start.reminder(at_second(500), false), std::nullopt);
  EXPECT_EQ(said(start, 501, 570, 1), (std::vector<std::int64_t>{60}));
}

}  // namespace
}  // namespace lastcall::runtime
