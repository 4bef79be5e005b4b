#include "core/stop_clock.hpp"

#include <gtest/gtest.h>

#include "core/drain_gate.hpp"

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kClockStart = instant_from_ms(1'000'000);

struct StopClockTest : testing::Test {
  void stop(bool abbreviated = false) {
    clock.begin_stop(kClockStart, {.cause = {CauseKind::signal, "TERM"}, .cause_at = kClockStart},
                     abbreviated);
  }

  Settings settings;
  StopClock clock{settings};
};

TEST_F(StopClockTest, The_cancel_points_are_counted_back_from_the_deadline) {
  stop();
  EXPECT_EQ(clock.stop()->deadline, kClockStart + 60s);
  EXPECT_EQ(clock.stop_cancel_point(), kClockStart + 54s);
  EXPECT_EQ(clock.kill_cancel_point(), kClockStart + 55s);
}

TEST_F(StopClockTest, A_deadline_moves_closer_and_never_away) {
  stop();
  EXPECT_FALSE(clock.limit_deadline(kClockStart + 61s));
  EXPECT_TRUE(clock.limit_deadline(kClockStart + 30s));
  EXPECT_FALSE(clock.limit_deadline(kClockStart + 30s));
  clock.shorten(kClockStart + 28s, 5s);
  EXPECT_EQ(clock.stop()->deadline, kClockStart + 30s);
}

TEST_F(StopClockTest, A_grace_that_was_read_shortens_the_stop_under_way_once) {
  stop();
  EXPECT_TRUE(clock.limit_grace(32s, false));
  EXPECT_EQ(clock.stop()->deadline, kClockStart + 30s);
  EXPECT_FALSE(clock.limit_grace(40s, false)) << "it is that short already";
}

TEST_F(StopClockTest, An_order_to_end_keeps_to_a_bound_that_becomes_known_later) {
  clock.limit_drain(kClockStart);
  clock.ask_to_end(kClockStart);
  EXPECT_EQ(clock.kill_at(kClockStart), kClockStart + settings.shutdown.cancel_settle);
  clock.end_drain(false);
  clock.begin_hook(kClockStart, false);
  clock.ask_to_end(kClockStart + 4'900ms);
  EXPECT_EQ(clock.kill_at(kClockStart + 4'900ms), kClockStart + kRestartHook);
  clock.ask_to_end(kClockStart + 4'950ms);
  EXPECT_EQ(clock.kill_at(kClockStart + 4'950ms), kClockStart + kRestartHook) << "asked once";
}

TEST_F(StopClockTest, A_hook_bounds_a_drain_until_its_calls_have_returned) {
  clock.begin_hook(kClockStart, true);
  EXPECT_EQ(clock.hook_limit(), kClockStart + kRestartHook);
  EXPECT_EQ(clock.stop_cancel_point(), kClockStart + kRestartHook - clock.budgets().settle);
  clock.explain_hook();
  EXPECT_EQ(clock.hook_limit(), kClockStart + 55s) << "the pod goes: a stop's D - reserve";
  clock.hook.end();
  EXPECT_EQ(clock.stop_cancel_point(), std::nullopt);
}

TEST_F(StopClockTest, Time_that_prestop_used_is_gone_for_the_stop_that_follows) {
  settings.pod_grace = 32s;
  StopClock within{settings};
  within.begin_hook(kClockStart, true);
  EXPECT_EQ(within.budgets_of(kClockStart + 10s).total, 20s);
}

TEST(DrainGate, A_cut_is_asked_once_and_kills_a_settle_later) {
  Settings const settings;
  DrainGate gate{settings};
  Facts facts;
  facts.ungraceful = 1;
  DrainGate::Bounds const bounds{.phase = Phase::draining,
                                 .began = kClockStart,
                                 .kill_at = kClockStart + 99s,
                                 .budgets = budgets_within(settings.shutdown, std::nullopt)};
  EXPECT_EQ(gate.next_in_draining(kClockStart, facts, bounds).step,
            DrainGate::Step::stop_ungraceful);
  EXPECT_EQ(gate.cancels_new_ungraceful(), CancelMode::stop);
  EXPECT_EQ(gate.cancels_new(), std::nullopt);
  EXPECT_EQ(gate.next_in_draining(kClockStart, facts, bounds).step, DrainGate::Step::none);
  EXPECT_EQ(gate.next_deadline(facts, bounds), kClockStart + 1s);
  EXPECT_EQ(gate.next_in_draining(kClockStart + 1s, facts, bounds).step,
            DrainGate::Step::kill_ungraceful);
  EXPECT_EQ(gate.next_in_draining(kClockStart + 1s, facts, bounds).step, DrainGate::Step::closed);
}

TEST(DrainGate, A_cut_of_all_outranks_one_of_those_that_do_not_hold_the_drain) {
  Settings const settings;
  DrainGate gate{settings};
  Facts facts;
  facts.graceful = 1;
  DrainGate::Bounds const bounds{.phase = Phase::draining,
                                 .began = kClockStart,
                                 .stop_cancel = kClockStart,
                                 .kill_at = kClockStart + 1s,
                                 .budgets = {}};
  EXPECT_EQ(gate.next_in_draining(kClockStart, facts, bounds).step, DrainGate::Step::stop_all);
  EXPECT_TRUE(gate.has_cut_all());
  EXPECT_EQ(gate.cancels_new_ungraceful(), CancelMode::stop);
  EXPECT_EQ(gate.next_in_draining(kClockStart + 1s, facts, bounds).step, DrainGate::Step::kill_all);
  auto const closed = gate.next_in_draining(kClockStart + 1s, facts, bounds);
  EXPECT_EQ(closed.step, DrainGate::Step::closed);
  EXPECT_EQ(closed.outcome, PhaseOutcome::timed_out);
}

}  // namespace
}  // namespace lastcall::lifecycle
