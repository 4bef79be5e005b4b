#include "core/budgets.hpp"

#include <random>

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

struct BudgetRow {
  char const* name;
  Duration grace;
  std::optional<Duration> pod;
  Duration spent;
  Budgets expected;  // total, deregister, late_accept, shared, reserve, settle, kill, disconnects
  std::size_t warnings;
};

class BudgetTable : public testing::TestWithParam<BudgetRow> {};

TEST_P(BudgetTable, Gives_the_documented_numbers) {
  BudgetRow const& row = GetParam();
  ShutdownSettings settings;
  settings.grace_period = row.grace;
  BudgetPlan const plan = derive_budgets(settings, row.pod, row.spent);
  EXPECT_EQ(plan.budgets, row.expected);
  EXPECT_EQ(plan.warnings.size(), row.warnings);
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, BudgetTable,
    testing::Values(
        BudgetRow{"no_pod", 60s, {}, 0s, {60s, 5s, 1s, 27s, 5s, 1s, 1s, 1s}, 0},
        BudgetRow{"kubernetes_default_of_30", 60s, 30s, 0s, {28s, 5s, 1s, 11s, 5s, 1s, 1s, 1s}, 1},
        BudgetRow{"pod_that_fits", 60s, 62s, 0s, {60s, 5s, 1s, 27s, 5s, 1s, 1s, 1s}, 0},
        BudgetRow{"pre_stop_took_ten", 60s, 60s, 10s, {48s, 5s, 1s, 21s, 5s, 1s, 1s, 1s}, 1},
        // docker: 8 s; half of 8 - 4 - 1 is 1.5 s: late_accept has what deregistration leaves.
        BudgetRow{"docker", 60s, 10s, 0s, {8s, 1500ms, 1s, 1500ms, 4s, 1s, 1s, 1s}, 4},
        BudgetRow{"smallest", 60s, 1s, 0s, {1s, 187ms, 187ms, 187ms, 500ms, 125ms, 125ms, 1s}, 5},
        BudgetRow{"nothing_left_after_pre_stop",
                  60s,
                  30s,
                  60s,
                  {1s, 187ms, 187ms, 187ms, 500ms, 125ms, 125ms, 1s},
                  5},
        BudgetRow{"grace_below_the_minimum",
                  200ms,
                  {},
                  0s,
                  {1s, 187ms, 187ms, 187ms, 500ms, 125ms, 125ms, 1s},
                  4}),
    [](auto const& row) { return row.param.name; });

TEST(Budgets, Fixed_points_count_back_from_the_deadline) {
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

TEST(Budgets, A_warning_names_the_numbers) {
  auto const plan = derive_budgets({}, Duration{30s});
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_NE(plan.warnings[0].find("60000ms"), std::string::npos) << plan.warnings[0];
  EXPECT_NE(plan.warnings[0].find("28000ms"), std::string::npos) << plan.warnings[0];
  EXPECT_NE(plan.warnings[0].find("30000ms"), std::string::npos) << plan.warnings[0];
}

TEST(Budgets, Steps_that_are_not_configured_are_not_reserved_for) {
  ShutdownSettings settings;
  settings.registries = settings.events = false;
  EXPECT_EQ(budgets_within(settings, {}).reserve, 4s);
  settings.events = true;
  EXPECT_EQ(budgets_within(settings, {}).reserve, 4500ms);
  settings.cleanup_reserve = 20s;
  EXPECT_EQ(budgets_within(settings, {}).reserve, 4500ms);
  settings.cleanup_reserve = 3s;
  EXPECT_EQ(budgets_within(settings, {}).reserve, 3s);
}

TEST(Budgets, Late_accept_has_what_deregistration_leaves) {
  ShutdownSettings settings;
  settings.grace_period = 8s;
  Budgets const b = budgets_within(settings, {});
  EXPECT_EQ(b.late_accept_after(25ms), 1s);
  EXPECT_EQ(b.late_accept_after(700ms), 800ms);
  EXPECT_EQ(b.late_accept_after(1500ms), 0s);
  EXPECT_EQ(b.closed_after(), 1500ms);
  settings.deregister_timeout = 0s;
  EXPECT_EQ(budgets_within(settings, {}).closed_after(), 1s);
}

TEST(Budgets, Without_a_registry_nothing_is_warned_of_its_time) {
  ShutdownSettings settings;
  settings.grace_period = 10s;
  settings.registries = settings.events = false;
  EXPECT_EQ(derive_budgets(settings, {}).warnings, std::vector<std::string>{});
  settings.registries = true;
  auto const warnings = derive_budgets(settings, {}).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[1].find("together they get 2250ms"), std::string::npos) << warnings[1];
}

TEST(Budgets, A_short_reserve_makes_room_for_hooks_and_the_engines_stop) {
  ShutdownSettings settings;
  settings.cleanup_reserve = 1s;
  Budgets const b = budgets_within(settings, {});
  EXPECT_EQ(b.reserve, 1s);
  EXPECT_EQ(with_room_for_cleanup(b, false).reserve, 2s);
  EXPECT_EQ(with_room_for_cleanup(b, true).reserve, 5s);
  settings.grace_period = 8s;
  EXPECT_EQ(with_room_for_cleanup(budgets_within(settings, {}), true).reserve, 4s);
}

/// Whatever the settings: parts fit into the whole, in order, and no earlier phase meets the
/// reserve.
TEST(Budgets, Always_fit_whatever_the_settings) {
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
                             .drain_unknown = upto(30'000),
                             .events = i % 2 == 0,
                             .registries = i % 5 != 0};
    auto const pod = i % 3 == 0 ? std::nullopt : std::optional(upto(120'000));
    Budgets const b = budgets_within(s, pod, upto(20'000));
    ASSERT_GE(b.total, kMinimumTotal);
    ASSERT_GE(b.late_accept.count(), 0);
    ASSERT_EQ(b.shared, (b.total - b.reserve - b.settle) / 2);
    ASSERT_LE(b.reserve, s.cleanup_reserve);
    ASSERT_LE(b.reserve, b.total / 2);
    ASSERT_LE(b.settle, b.total / 8);
    ASSERT_LE(b.deregister_timeout, s.deregister_timeout);
    ASSERT_LE(b.late_accept, s.late_accept);
    Duration const used = upto(static_cast<int>(b.deregister_timeout.count()));
    Duration const late = b.late_accept_after(used);
    ASSERT_LE(used + late, b.shared);
    // Everything unused goes on: late_accept is short only of what phase 1 really used.
    ASSERT_TRUE(late == s.late_accept || used + late == b.shared);
    ASSERT_LE(used + late, b.closed_after());
    Budgets const kept = with_room_for_cleanup(b, i % 7 != 0);
    Instant const d = kept.deadline(Instant{});
    ASSERT_LE(Instant{} + kept.closed_after(), kept.stop_cancel_at(d));
    ASSERT_LE(kept.stop_cancel_at(d), kept.kill_cancel_at(d));
    ASSERT_LE(kept.kill_cancel_at(d), kept.engine_term_at(d));
    ASSERT_LE(kept.engine_term_at(d), kept.shim_term_at(d));
    ASSERT_LE(kept.shim_term_at(d), kept.engine_kill_at(d));
    ASSERT_LE(kept.engine_kill_at(d), d);
  }
}

}  // namespace
}  // namespace lastcall::lifecycle
