#include <string>

#include <gtest/gtest.h>

#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes::test {
namespace {

TEST(LabelGuard, Values_that_are_real_have_places_that_no_flood_of_others_takes) {
  LabelGuard guard(3);
  guard.keep("model", "configured");
  for (char const* const invented : {"a", "b", "c", "d"}) {
    EXPECT_EQ(guard.admit("model", invented), *invented == 'd' ? "other" : invented);
  }
  guard.keep("model", "served");
  for (char const* const real : {"configured", "served", "a"}) {
    EXPECT_EQ(guard.admit("model", real), real);
  }
  EXPECT_EQ(guard.admit("endpoint", "d"), "d");
}

TEST(LabelGuard, Places_of_real_values_are_bounded_and_none_is_taken_twice) {
  LabelGuard guard(2);
  guard.admit("model", "a");
  for (char const* const real : {"a", "b", "b", "", "\xff", "c", "d"}) {
    guard.keep("model", real);
  }
  EXPECT_EQ(guard.admit("model", "c"), "c");
  EXPECT_EQ(guard.admit("model", "e"), "e");  // the second of those that any client may take
  EXPECT_EQ(guard.admit("model", "d"), "other");
  EXPECT_EQ(guard.admit("model", "f"), "other");
  EXPECT_EQ(guard.admit("model", ""), "unknown");
}

}  // namespace
}  // namespace lastcall::probes::test
