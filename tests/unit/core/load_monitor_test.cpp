#include "core/load_monitor.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

constexpr Instant kLoadStart = instant_from_ms(1'000'000);

LoadThresholds thresholds() {
  LoadThresholds t;
  t.decode_ppm = 850'000;
  t.prefill_tokens = 10'000;
  return t;
}

LoadReported decode(std::uint32_t rank, std::uint64_t blocks, std::uint64_t total = 100) {
  LoadReported report;
  report.peer = 1;
  report.rank = rank;
  report.active_decode_blocks = blocks;
  report.kv_total_blocks = total;
  return report;
}

/// The load by the engine's own gauges.
LoadReported gauge(std::uint64_t blocks) {
  LoadReported report = decode(0, blocks);
  report.peer.reset();
  return report;
}

LoadReported prefill(std::uint32_t rank, std::uint64_t tokens) {
  LoadReported report;
  report.peer = 1;
  report.rank = rank;
  report.active_prefill_tokens = tokens;
  return report;
}

bool busy_after(LoadReported const& report) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, report);
  return loads.is_busy(kLoadStart);
}

TEST(LoadMonitor, Is_busy_strictly_above_either_threshold) {
  EXPECT_FALSE(busy_after(decode(0, 85)));
  EXPECT_TRUE(busy_after(decode(0, 86)));
  EXPECT_TRUE(busy_after(decode(0, 87)));  // the seed's example
  EXPECT_FALSE(busy_after(decode(0, 850'000, 1'000'000)));
  EXPECT_TRUE(busy_after(decode(0, 850'001, 1'000'000)));
  EXPECT_FALSE(busy_after(prefill(0, 10'000)));
  EXPECT_TRUE(busy_after(prefill(0, 10'001)));
}

TEST(LoadMonitor, A_share_of_no_blocks_and_a_figure_that_is_missing_are_not_busy) {
  EXPECT_FALSE(busy_after(decode(0, 100, 0)));
  LoadReported without_total = decode(0, 100);
  without_total.kv_total_blocks.reset();
  EXPECT_FALSE(busy_after(without_total));
  EXPECT_FALSE(busy_after(LoadReported{}));
  EXPECT_TRUE(busy_after(decode(0, UINT64_MAX, 1)));
}

TEST(LoadMonitor, Without_thresholds_nothing_is_busy) {
  LoadMonitor loads;
  loads.report(kLoadStart, decode(0, 100));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.set_thresholds(thresholds());  // takes effect at once
  EXPECT_TRUE(loads.is_busy(kLoadStart));
  loads.set_thresholds({});
  EXPECT_FALSE(loads.is_busy(kLoadStart));
}

TEST(LoadMonitor, Is_busy_only_if_all_ranks_are) {
  LoadMonitor loads(thresholds());
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, decode(0, 90));
  loads.report(kLoadStart, decode(1, 10));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, prefill(1, 12'000));
  EXPECT_TRUE(loads.is_busy(kLoadStart));
}

TEST(LoadMonitor, A_rank_without_fresh_data_is_free) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, decode(0, 90));
  loads.report(kLoadStart + Duration{4'000}, decode(1, 90));
  EXPECT_TRUE(loads.is_busy(kLoadStart + Duration{10'000}));
  EXPECT_FALSE(loads.is_busy(kLoadStart + Duration{10'001}));
  EXPECT_EQ(loads.busy_until(), kLoadStart + Duration{10'001});
  loads.report(kLoadStart + Duration{12'000}, decode(1, 90));
  EXPECT_FALSE(loads.is_busy(kLoadStart + Duration{12'000}));
  loads.report(kLoadStart + Duration{12'000}, decode(0, 90));
  EXPECT_TRUE(loads.is_busy(kLoadStart + Duration{12'000}));
}

TEST(LoadMonitor, The_peers_that_are_gone_have_no_ranks) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, decode(0, 90));
  LoadReported other = decode(1, 10);
  other.peer = 2;
  loads.report(kLoadStart, other);
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.peer_forgotten(2);
  EXPECT_TRUE(loads.is_busy(kLoadStart));
  loads.peer_forgotten(1);
  EXPECT_FALSE(loads.is_busy(kLoadStart));
}

TEST(LoadMonitor, Blocks_that_sdks_report_outrank_the_gauges) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, gauge(90));
  EXPECT_TRUE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, decode(0, 10));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, gauge(90));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, decode(0, 90));
  loads.report(kLoadStart, gauge(10));
  EXPECT_TRUE(loads.is_busy_by_ranks(kLoadStart));
}

TEST(LoadMonitor, Gauges_count_for_ranks_that_report_no_blocks) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, prefill(0, 5));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, gauge(90));
  EXPECT_TRUE(loads.is_busy(kLoadStart));
  EXPECT_FALSE(loads.is_busy_by_ranks(kLoadStart));
  loads.report(kLoadStart, prefill(0, 5));
  EXPECT_TRUE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, gauge(10));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, prefill(0, 12'000));
  EXPECT_TRUE(loads.is_busy_by_ranks(kLoadStart));
}

TEST(LoadMonitor, Gauges_speak_again_when_the_ranks_have_fallen_silent) {
  LoadMonitor loads(thresholds());
  loads.report(kLoadStart, decode(0, 10));
  loads.report(kLoadStart + Duration{10'000}, gauge(90));
  EXPECT_FALSE(loads.is_busy(kLoadStart + Duration{10'000}));
  loads.report(kLoadStart + Duration{10'001}, gauge(90));
  EXPECT_TRUE(loads.is_busy(kLoadStart + Duration{10'001}));
  EXPECT_EQ(loads.busy_until(), kLoadStart + Duration{20'002});
  loads.report(kLoadStart + Duration{10'002}, decode(0, 10));
  EXPECT_FALSE(loads.is_busy(kLoadStart + Duration{10'002}));
}

TEST(LoadMonitor, More_ranks_than_any_engine_has_are_not_kept) {
  LoadMonitor loads(thresholds());
  for (std::uint32_t rank = 0; rank < kMostRanks; ++rank) {
    EXPECT_TRUE(loads.report(kLoadStart, decode(rank, 90)));
  }
  EXPECT_FALSE(loads.report(kLoadStart, decode(9'999, 90)));
  EXPECT_TRUE(loads.report(kLoadStart, decode(0, 10)));
  EXPECT_EQ(loads.ranks().size(), kMostRanks);
}

TEST(LoadMonitor, A_rank_that_has_never_reported_is_free_where_their_number_is_known) {
  LoadThresholds of_two = thresholds();
  of_two.ranks = 2;
  LoadMonitor loads(of_two);
  loads.report(kLoadStart, decode(0, 90));
  EXPECT_FALSE(loads.is_busy(kLoadStart));
  loads.report(kLoadStart, decode(1, 90));
  EXPECT_TRUE(loads.is_busy(kLoadStart));
}

TEST(LoadMonitor, Names_the_figure_that_makes_the_engine_busy) {
  LoadMonitor loads(thresholds());
  EXPECT_FALSE(loads.excess(kLoadStart));
  loads.report(kLoadStart, gauge(90));
  EXPECT_EQ(loads.excess(kLoadStart),
            (LoadExcess{LoadFigure::active_decode_blocks, 0, 900'000, 850'000}));
  loads.report(kLoadStart, prefill(3, 12'000));
  EXPECT_EQ(loads.excess(kLoadStart),
            (LoadExcess{LoadFigure::active_prefill_tokens, 3, 12'000, 10'000}));
}

}  // namespace
}  // namespace lastcall::lifecycle
