#include "core/cleanup_sequence.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/report.hpp"

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;
using CleanupOrder = CleanupSequence::Order;

constexpr Instant kNow = instant_from_ms(100'000);
constexpr Instant kDeadline = kNow + Duration{30'000};

struct CleanupTest : testing::Test {
  void start(std::array<bool, kCleanupItems> applies, std::uint32_t step = 0) {
    list.begin(kNow, applies, step);
  }
  /// All orders that are due at a time: `start hooks`, `signal`, `kill`, `done`.
  std::vector<std::string> due(Duration after) {
    std::vector<std::string> orders;
    while (orders.size() < 20) {
      auto const next = list.next(kNow + after, kDeadline, budgets);
      switch (next.order) {
        case CleanupOrder::none:
          return orders;
        case CleanupOrder::start:
          orders.push_back("start " + std::string(name(next.item)));
          break;
        case CleanupOrder::signal_engine:
          orders.emplace_back("signal");
          break;
        case CleanupOrder::kill_engine:
          orders.emplace_back("kill");
          break;
        case CleanupOrder::done:
          orders.emplace_back("done");
          return orders;
      }
    }
    return orders;
  }
  void settle(Duration after, CleanupItem item) {
    list.settle(kNow + after, item, ItemOutcome::completed, {});
  }
  std::optional<Duration> timer() {
    auto const at = list.next_deadline(kDeadline, budgets);
    return at ? std::optional(*at - kNow) : std::nullopt;
  }

  CleanupSequence list;
  Budgets const budgets = budgets_within({}, Duration{32s});
};

using OrderNames = std::vector<std::string>;
constexpr std::array<bool, kCleanupItems> kAll{true, true, true, true, true, true};
constexpr std::array<bool, kCleanupItems> kNothing{};

TEST_F(CleanupTest, Items_start_in_their_order_and_each_waits_for_the_one_before) {
  start(kAll);
  EXPECT_EQ(due(0s), (OrderNames{"start sdk", "start hooks"}));
  settle(100ms, CleanupItem::hooks);
  EXPECT_EQ(due(100ms), OrderNames{});
  settle(200ms, CleanupItem::sdk);
  EXPECT_EQ(due(200ms), OrderNames{"start events"});
  settle(300ms, CleanupItem::events);
  EXPECT_EQ(due(300ms), OrderNames{"start registries"});
  settle(400ms, CleanupItem::registries);
  EXPECT_EQ(due(400ms), OrderNames{"signal"});
  list.engine_gone(kNow + 500ms, kNow + 500ms);
  EXPECT_EQ(due(500ms), OrderNames{"start paths"});
  settle(600ms, CleanupItem::paths);
  EXPECT_EQ(due(600ms), OrderNames{"done"});
  EXPECT_EQ(list.record(CleanupItem::hooks).elapsed, Duration{100ms});
  EXPECT_EQ(list.record(CleanupItem::paths).outcome, ItemOutcome::completed);
}

TEST_F(CleanupTest, Files_are_removed_when_nobody_of_the_engine_is_left_to_write_new_ones) {
  start({false, false, false, false, true, true});
  EXPECT_EQ(due(0s), OrderNames{"signal"});
  list.engine_gone(kNow + 100ms, kNow + 1100ms);
  EXPECT_EQ(due(100ms), OrderNames{});
  EXPECT_EQ(timer(), Duration{1100ms});
  EXPECT_EQ(due(1099ms), OrderNames{});
  EXPECT_EQ(due(1100ms), OrderNames{"start paths"});
}

TEST_F(CleanupTest, A_list_without_files_does_not_wait_for_the_rest_of_the_engine) {
  start({false, false, false, false, true, false});
  EXPECT_EQ(due(0s), OrderNames{"signal"});
  list.engine_gone(kNow + 100ms, kNow + 1100ms);
  EXPECT_EQ(due(100ms), OrderNames{"done"});
}

TEST_F(CleanupTest, A_list_of_nothing_is_done_at_once) {
  start(kNothing);
  EXPECT_EQ(due(0s), OrderNames{"done"});
  EXPECT_EQ(list.record(CleanupItem::hooks).outcome, ItemOutcome::skipped);
}

TEST_F(CleanupTest, Items_that_hang_are_left_behind_when_their_time_is_over) {
  start(kAll);
  due(0s);
  EXPECT_EQ(timer(), Duration{2s});
  EXPECT_EQ(due(2s), OrderNames{"start events"});
  EXPECT_EQ(due(2499ms), OrderNames{});
  EXPECT_EQ(due(2500ms), OrderNames{"start registries"});
  EXPECT_EQ(due(3s), OrderNames{"signal"});
  EXPECT_EQ(list.record(CleanupItem::sdk).outcome, ItemOutcome::timed_out);
  EXPECT_EQ(list.record(CleanupItem::events).elapsed, Duration{500ms});
}

TEST_F(CleanupTest, An_answer_that_comes_too_late_changes_nothing) {
  start(kAll);
  due(2s);
  settle(2100ms, CleanupItem::hooks);
  EXPECT_EQ(list.record(CleanupItem::hooks).outcome, ItemOutcome::timed_out);
}

TEST_F(CleanupTest, An_answer_that_comes_too_late_still_names_what_overran) {
  start(kAll);
  due(2s);
  list.settle(kNow + 2100ms, CleanupItem::hooks, ItemOutcome::timed_out, "h0: killed");
  list.settle(kNow + 2200ms, CleanupItem::hooks, ItemOutcome::timed_out, "again");
  EXPECT_EQ(list.record(CleanupItem::hooks).outcome, ItemOutcome::timed_out);
  EXPECT_EQ(list.record(CleanupItem::hooks).detail, "h0: killed");
  EXPECT_EQ(list.record(CleanupItem::hooks).elapsed, Duration{2s});
}

TEST_F(CleanupTest, The_engine_is_killed_near_the_deadline_and_once) {
  start({false, false, false, false, true, false});
  EXPECT_EQ(due(0s), OrderNames{"signal"});
  EXPECT_EQ(timer(), Duration{29s});
  EXPECT_EQ(due(28'999ms), OrderNames{});
  EXPECT_EQ(due(29s), OrderNames{"kill"});
  EXPECT_EQ(due(29'500ms), OrderNames{});
  EXPECT_EQ(timer(), Duration{30s});
  EXPECT_EQ(due(30s), OrderNames{"done"});
  EXPECT_EQ(list.record(CleanupItem::engine).outcome, ItemOutcome::timed_out);
}

TEST_F(CleanupTest, Whatever_hangs_the_engine_has_its_signal_in_time) {
  list.begin(kDeadline - 5s, kAll, 0);
  Duration at = 25s;
  bool signalled = false;
  while (!signalled && at < 30s) {
    for (std::string const& order : due(at)) {
      signalled = signalled || order == "signal";
    }
    if (!signalled) {
      ASSERT_GT(*timer(), at) << "the timer must make progress";
      at = *timer();
    }
  }
  EXPECT_LE(at, Duration{28s});
}

TEST_F(CleanupTest, An_earlier_lifes_list_goes_on_where_it_was) {
  start(kAll, 2);
  EXPECT_EQ(due(0s), OrderNames{"start registries"});
  settle(10ms, CleanupItem::registries);
  EXPECT_EQ(due(10ms), OrderNames{"signal"});
}

TEST_F(CleanupTest, An_item_that_comes_late_joins_its_group_or_nothing) {
  std::array<bool, kCleanupItems> hooks_only{};
  hooks_only[static_cast<std::size_t>(CleanupItem::hooks)] = true;
  start(hooks_only);
  EXPECT_EQ(due(0s), OrderNames{"start hooks"});
  list.apply_late(CleanupItem::sdk);
  EXPECT_EQ(due(0s), OrderNames{"start sdk"});
  settle(10ms, CleanupItem::hooks);
  settle(10ms, CleanupItem::sdk);
  due(10ms);
  ASSERT_TRUE(list.is_done());
  list.apply_late(CleanupItem::events);
  EXPECT_EQ(list.record(CleanupItem::events).outcome, ItemOutcome::skipped);
}

TEST_F(CleanupTest, An_engine_that_is_gone_before_its_turn_is_no_item) {
  start(kAll);
  due(0s);
  list.engine_gone(kNow + 50ms, kNow + 50ms);
  settle(100ms, CleanupItem::sdk);
  settle(100ms, CleanupItem::hooks);
  settle(100ms, CleanupItem::events);
  due(100ms);
  settle(100ms, CleanupItem::events);
  due(100ms);
  settle(100ms, CleanupItem::registries);
  EXPECT_EQ(due(100ms), OrderNames{"start paths"});
  EXPECT_FALSE(list.term_sent());
}

}  // namespace
}  // namespace lastcall::lifecycle
