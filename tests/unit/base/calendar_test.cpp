#include "base/calendar.hpp"

#include <gtest/gtest.h>

namespace lastcall::test {
namespace {

using std::chrono::system_clock;

system_clock::time_point at(std::chrono::microseconds since_epoch) {
  return system_clock::time_point(since_epoch);
}

TEST(Calendar, A_time_is_written_in_UTC) {
  auto const time = at(std::chrono::microseconds(1'738'324'800'250'999));
  EXPECT_EQ(utc_text(time, Fraction::none), "2025-01-31T12:00:00Z");
  EXPECT_EQ(utc_text(time, Fraction::milliseconds), "2025-01-31T12:00:00.250Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "2025-01-31T12:00:00.250999Z");
}

TEST(Calendar, A_fraction_has_its_leading_zeros) {
  auto const time = at(std::chrono::microseconds(1'738'324'800'000'007));
  EXPECT_EQ(utc_text(time, Fraction::milliseconds), "2025-01-31T12:00:00.000Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "2025-01-31T12:00:00.000007Z");
}

TEST(Calendar, A_time_before_1970_is_rounded_down) {
  auto const time = at(std::chrono::microseconds(-1));
  EXPECT_EQ(utc_text(time, Fraction::none), "1969-12-31T23:59:59Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "1969-12-31T23:59:59.999999Z");
}

}  // namespace
}  // namespace lastcall::test
