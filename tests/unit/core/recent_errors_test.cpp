#include "core/recent_errors.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

TEST(RecentErrors, Counts_those_of_the_window_and_no_older_ones) {
  RecentErrors errors;
  Instant const begin = instant_from_ms(1'000'000);
  EXPECT_EQ(errors.count(begin), 0U);
  errors.ended(begin);
  errors.ended(begin + Duration{1'000});
  errors.ended(begin + Duration{1'000});
  EXPECT_EQ(errors.count(begin + Duration{1'000}), 3U);
  EXPECT_EQ(errors.count(begin + RecentErrors::kWindow), 3U);
  EXPECT_EQ(errors.count(begin + Duration{2'900}), 2U);
  EXPECT_EQ(errors.count(begin + Duration{3'100}), 0U);
}

TEST(RecentErrors, A_slot_that_is_used_again_forgets_what_it_held) {
  RecentErrors errors;
  Instant now = instant_from_ms(0);
  for (int i = 0; i < 1'000; ++i) {
    errors.ended(now);
    now += Duration{50};
  }
  EXPECT_LE(errors.count(now), 42U);  // 2.1 s, one each 50 ms
  EXPECT_GE(errors.count(now), 38U);
}

}  // namespace
}  // namespace lastcall::lifecycle
