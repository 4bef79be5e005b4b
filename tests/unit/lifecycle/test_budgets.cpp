#include <random>

#include <gtest/gtest.h>

#include "supervisor/lifecycle/budgets.hpp"

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

struct BudgetRow {
  char const* name;
  Duration grace;
  std::optional<Duration> pod;
  Duration spent;
  Budgets expected;  // total, deregister, late_accept, reserve, settle, kill margin
  std::size_t warnings;
};

class BudgetTable : public testing::TestWithParam<BudgetRow> {};

TEST_P(BudgetTable, gives_the_documented_numbers) {
  BudgetRow const& row = GetParam();
  ShutdownSettings settings;
  settings.grace_period = row.grace;
  BudgetPlan const plan = derive_budgets(settings, row.pod, row.spent);
  EXPECT_EQ(plan.budgets.total, row.expected.total);
  EXPECT_EQ(plan.budgets.deregister_timeout, row.expected.deregister_timeout);
  EXPECT_EQ(plan.budgets.late_accept, row.expected.late_accept);
  EXPECT_EQ(plan.budgets.reserve, row.expected.reserve);
  EXPECT_EQ(plan.budgets.settle, row.expected.settle);
  EXPECT_EQ(plan.budgets.kill_margin, row.expected.kill_margin);
  EXPECT_EQ(plan.warnings.size(), row.warnings);
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, BudgetTable,
    testing::Values(
        BudgetRow{"no_pod", 60s, {}, 0s, {60s, 5s, 1s, 5s, 1s, 1s}, 0},
        BudgetRow{"kubernetes_default_of_30", 60s, 30s, 0s, {28s, 5s, 1s, 5s, 1s, 1s}, 1},
        BudgetRow{"pod_that_fits", 60s, 62s, 0s, {60s, 5s, 1s, 5s, 1s, 1s}, 0},
        BudgetRow{"pre_stop_took_ten", 60s, 60s, 10s, {48s, 5s, 1s, 5s, 1s, 1s}, 1},
        // docker: 8 s; half of 8 - 4 - 1 is 1.5 s: late_accept gives way first.
        BudgetRow{"docker", 60s, 10s, 0s, {8s, 1500ms, 0s, 4s, 1s, 1s}, 4},
        BudgetRow{"smallest", 60s, 1s, 0s, {1s, 187ms, 0s, 500ms, 125ms, 125ms}, 5},
        BudgetRow{
            "nothing_left_after_pre_stop", 60s, 30s, 60s, {1s, 187ms, 0s, 500ms, 125ms, 125ms}, 5},
        BudgetRow{
            "grace_below_the_minimum", 200ms, {}, 0s, {1s, 187ms, 0s, 500ms, 125ms, 125ms}, 4}),
    [](auto const& row) { return row.param.name; });

TEST(Budgets, fixed_points_count_back_from_the_deadline) {
  Budgets const b = budgets_within({}, std::nullopt);
  Instant const cause = instant_from_ms(1'000);
  Instant const d = b.deadline(cause);
  EXPECT_EQ(to_ms(d), 61'000);
  EXPECT_EQ(to_ms(b.stop_cancel_at(d)), 55'000);
  EXPECT_EQ(to_ms(b.kill_cancel_at(d)), 56'000);
  EXPECT_EQ(to_ms(b.engine_term_at(d)), 59'000);
  EXPECT_EQ(to_ms(b.shim_term_at(d)), 59'500);
  EXPECT_EQ(to_ms(b.engine_kill_at(d)), 60'000);
}

TEST(Budgets, a_warning_names_the_numbers) {
  auto const plan = derive_budgets({}, Duration{30s});
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_NE(plan.warnings[0].find("60000ms"), std::string::npos) << plan.warnings[0];
  EXPECT_NE(plan.warnings[0].find("28000ms"), std::string::npos) << plan.warnings[0];
  EXPECT_NE(plan.warnings[0].find("30000ms"), std::string::npos) << plan.warnings[0];
}

/// Whatever the settings: parts fit into the whole, in order, and no earlier phase meets the
/// reserve.
TEST(Budgets, always_fit_whatever_the_settings) {
  std::mt19937 random(42);  // NOLINT: the same numbers each time
  auto const upto = [&](int most) {
    return Duration{std::uniform_int_distribution<int>(0, most)(random)};
  };
  for (int i = 0; i < 20'000; ++i) {
    ShutdownSettings const s{.grace_period = upto(120'000),
                             .deregister_timeout = upto(60'000),
                             .late_accept = upto(60'000),
                             .cleanup_reserve = upto(60'000),
                             .cancel_settle = upto(10'000),
                             .drain_unknown = upto(30'000)};
    auto const pod = i % 3 == 0 ? std::nullopt : std::optional(upto(120'000));
    Budgets const b = budgets_within(s, pod, upto(20'000));
    ASSERT_GE(b.total, kMinimumTotal);
    ASSERT_GE(b.late_accept.count(), 0);
    ASSERT_LE(b.deregister_timeout + b.late_accept, (b.total - b.reserve - b.settle) / 2);
    ASSERT_LE(b.reserve, b.total / 2);
    ASSERT_LE(b.settle, b.total / 8);
    ASSERT_LE(b.deregister_timeout, s.deregister_timeout);
    ASSERT_LE(b.late_accept, s.late_accept);
    Instant const d = b.deadline(Instant{});
    ASSERT_LE(b.engine_term_at(d), b.engine_kill_at(d));
    ASSERT_LE(b.engine_kill_at(d), d);
    ASSERT_LE(b.stop_cancel_at(d), b.kill_cancel_at(d));
  }
}

}  // namespace
}  // namespace lastcall::lifecycle
