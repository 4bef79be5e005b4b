#include "base/calendar.hpp"

#include <gtest/gtest.h>

namespace lastcall::test {
namespace {

using std::chrono::system_clock;

system_clock::time_point at(std::chrono::microseconds since_epoch) {
  return system_clock::time_point(since_epoch);
}

TEST(Calendar, ATimeIsWrittenInUtc) {
  auto const time = at(std::chrono::microseconds(1'738'324'800'250'999));
  EXPECT_EQ(utc_text(time, Fraction::none), "2025-01-31T12:00:00Z");
  EXPECT_EQ(utc_text(time, Fraction::milliseconds), "2025-01-31T12:00:00.250Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "2025-01-31T12:00:00.250999Z");
}

TEST(Calendar, AFractionHasItsLeadingZeros) {
  auto const time = at(std::chrono::microseconds(1'738'324'800'000'007));
  EXPECT_EQ(utc_text(time, Fraction::milliseconds), "2025-01-31T12:00:00.000Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "2025-01-31T12:00:00.000007Z");
}

TEST(Calendar, ATimeBefore1970IsRoundedDown) {
  auto const time = at(std::chrono::microseconds(-1));
  EXPECT_EQ(utc_text(time, Fraction::none), "1969-12-31T23:59:59Z");
  EXPECT_EQ(utc_text(time, Fraction::microseconds), "1969-12-31T23:59:59.999999Z");
}

}  // namespace
}  // namespace lastcall::test
