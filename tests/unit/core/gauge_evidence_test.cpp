#include "core/gauge_evidence.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kFirstReading = instant_from_ms(1'000'000);

TEST(GaugeEvidence, Zero_settles_one_refresh_period_apart_and_proves_nothing_alone) {
  GaugeEvidence gauges(Duration{1s}, false);
  gauges.read(kFirstReading, {.in_flight = 0}, 0);
  EXPECT_TRUE(gauges.is_zero());
  gauges.read(kFirstReading + 999ms, {.in_flight = 0}, 0);
  EXPECT_FALSE(gauges.is_settled());
  gauges.read(kFirstReading + 1s, {.in_flight = 0, .tokens = {}, .load = 0}, 0);
  EXPECT_TRUE(gauges.is_settled());
  EXPECT_FALSE(gauges.load_is_zero()) << "it may count nothing at all";
  gauges.await_reading();
  EXPECT_FALSE(gauges.is_settled());
}

TEST(GaugeEvidence, A_load_counter_counts_where_the_gauges_do_not_yet) {
  GaugeEvidence gauges(Duration{1s}, false);
  gauges.read(kFirstReading, {.in_flight = 0, .tokens = {}, .load = 2}, 0);
  EXPECT_FALSE(gauges.is_zero());
  EXPECT_EQ(gauges.in_flight(), 2U);
  gauges.read(kFirstReading, {.in_flight = 0, .tokens = {}, .load = 0}, 0);
  EXPECT_TRUE(gauges.load_is_zero());
  gauges.read(kFirstReading, {.in_flight = 0}, 0);
  EXPECT_FALSE(gauges.load_is_zero()) << "it could not be read";
}

TEST(GaugeEvidence, A_counter_that_misses_our_own_token_does_not_show_what_the_engine_does) {
  GaugeEvidence gauges(Duration{1s}, false);
  gauges.read(kFirstReading, {.in_flight = 0, .tokens = 7}, 0);
  EXPECT_FALSE(gauges.misses_own_token()) << "none was asked for";
  gauges.own_token_asked();
  gauges.read(kFirstReading + 1s, {.in_flight = 0, .tokens = 7}, 0);
  EXPECT_TRUE(gauges.misses_own_token());
  gauges.read(kFirstReading + 2s, {.in_flight = 0}, 0);
  EXPECT_FALSE(gauges.misses_own_token()) << "there is no counter to try it by";
  gauges.read(kFirstReading + 3s, {.in_flight = 0, .tokens = 8}, 0);
  EXPECT_FALSE(gauges.misses_own_token());
}

TEST(GaugeEvidence, Our_own_request_is_not_work) {
  GaugeEvidence gauges(Duration{1s}, true);
  gauges.read(kFirstReading, {.in_flight = 1, .tokens = {}, .load = 1}, 1);
  EXPECT_TRUE(gauges.is_zero());
  EXPECT_TRUE(gauges.load_is_zero());
  gauges.read(kFirstReading, {.in_flight = 3}, 1);
  EXPECT_EQ(gauges.in_flight(), 2U);
  gauges.read(kFirstReading, {}, 0);
  EXPECT_EQ(gauges.last_figure(), 2U) << "the last that anybody knew";
}

}  // namespace
}  // namespace lastcall::lifecycle
