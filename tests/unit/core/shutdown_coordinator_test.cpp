#include "core/shutdown_coordinator.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

// The table itself: a phase never falls but by a resume, a replaced engine or a rearm.
constexpr bool moves_are_sound() {
  for (std::size_t from = 0; from < kPhases; ++from) {
    for (auto const& cell : kPhaseTable[from]) {
      bool const rises = static_cast<std::size_t>(cell.to) > from;
      bool const falls_back = cell.to == Phase::serving || cell.to == Phase::starting;
      bool const leaves_the_end = from == static_cast<std::size_t>(Phase::exited);
      if (cell.kind == CellKind::move &&
          ((!rises && !falls_back) || (leaves_the_end && cell.to != Phase::starting))) {
        return false;
      }
    }
  }
  return true;
}
static_assert(moves_are_sound());

constexpr Instant kStart = instant_from_ms(1'000'000);

struct CoordinatorTest : testing::Test {
  static Cause term() { return {CauseKind::signal, "TERM"}; }
  void serve() { c.become_ready(kStart); }
  void stop(Duration at = 0s) {
    c.begin_stop(kStart + at, term(), StopMode::graceful, kStart + at, false);
  }
  Move next(Duration at) { return c.next(kStart + at, facts); }
  void drain_now() {
    serve();
    stop();
    ASSERT_EQ(next(0s), Move::none);
    ASSERT_EQ(next(1s), Move::enter_draining);
  }

  Settings settings;
  ShutdownCoordinator c{settings};
  Facts facts;
};

TEST_F(CoordinatorTest, Confirmed_registries_leave_late_accept_and_then_phase_2) {
  serve();
  stop();
  facts.registries_settled = false;
  EXPECT_EQ(next(500ms), Move::none);
  EXPECT_EQ(c.next_deadline(facts), kStart + 5s);
  facts.registries_settled = true;
  EXPECT_EQ(next(800ms), Move::none);
  EXPECT_EQ(c.next_deadline(facts), kStart + 1'800ms);
  EXPECT_FALSE(refuses(c.phase()));
  EXPECT_EQ(next(1'800ms), Move::enter_draining);
  EXPECT_TRUE(refuses(c.phase()));
  EXPECT_EQ(c.phases().record(Phase::deregistering).outcome, PhaseOutcome::completed);
}

TEST_F(CoordinatorTest, Only_a_limit_that_comes_before_the_others_changes_anything) {
  serve();
  stop();
  EXPECT_FALSE(c.limit_drain(kStart, 100s));
  EXPECT_FALSE(c.limit_drain(kStart, 90s)) << "nearer, and still behind the stop's own";
  EXPECT_TRUE(c.limit_drain(kStart, 10s));
  EXPECT_FALSE(c.limit_drain(kStart, 10s));
  EXPECT_FALSE(c.limit_drain(kStart, 20s));
}

TEST_F(CoordinatorTest, Registries_that_fail_are_recorded_and_hold_nothing) {
  serve();
  stop();
  facts.registries_confirmed = false;
  next(0s);
  EXPECT_EQ(next(1s), Move::enter_draining);
  EXPECT_EQ(c.phases().record(Phase::deregistering).outcome, PhaseOutcome::failed);
}

TEST_F(CoordinatorTest, Registries_that_hang_end_phase_1_after_its_timeout) {
  serve();
  stop();
  facts.registries_settled = false;
  EXPECT_EQ(next(5s), Move::none);
  EXPECT_EQ(next(6s), Move::enter_draining);
  EXPECT_EQ(c.phases().record(Phase::deregistering).outcome, PhaseOutcome::timed_out);
}

TEST_F(CoordinatorTest, The_gate_holds_while_anything_graceful_is_in_flight) {
  drain_now();
  facts.graceful = 1;
  facts.ungraceful = 2;
  EXPECT_EQ(next(30s), Move::none);
  facts.graceful = 0;
  EXPECT_EQ(next(31s), Move::stop_ungraceful);
  EXPECT_EQ(next(31s), Move::none);
  EXPECT_EQ(c.next_deadline(facts), kStart + 32s);
  EXPECT_EQ(next(32s), Move::kill_ungraceful);
  EXPECT_EQ(next(32s), Move::enter_cleaning_up);
  EXPECT_EQ(c.phases().record(Phase::draining).outcome, PhaseOutcome::completed);
}

TEST_F(CoordinatorTest, Phase_3_begins_when_none_is_left_and_does_not_wait_for_the_kill) {
  drain_now();
  facts.ungraceful = 1;
  EXPECT_EQ(next(2s), Move::stop_ungraceful);
  facts.ungraceful = 0;
  EXPECT_EQ(next(2'100ms), Move::enter_cleaning_up);
}

TEST_F(CoordinatorTest, At_the_cancel_points_all_is_stopped_then_killed_and_the_reserve_is_kept) {
  drain_now();
  facts.graceful = 3;
  EXPECT_EQ(c.next_deadline(facts), kStart + 54s);
  EXPECT_EQ(next(53'999ms), Move::none);
  EXPECT_EQ(next(54s), Move::stop_all);
  EXPECT_EQ(c.cancels_new(false), CancelMode::stop);
  EXPECT_EQ(next(54'500ms), Move::none);
  EXPECT_EQ(c.next_deadline(facts), kStart + 55s);
  EXPECT_EQ(next(55s), Move::kill_all);
  EXPECT_EQ(next(55s), Move::enter_cleaning_up);
  EXPECT_EQ(c.cancels_new(false), CancelMode::kill);
  EXPECT_EQ(c.phases().record(Phase::draining).outcome, PhaseOutcome::timed_out);
}

TEST_F(CoordinatorTest, An_unknown_number_of_requests_costs_drain_unknown) {
  drain_now();
  facts.in_flight_known = false;
  EXPECT_EQ(next(15'999ms), Move::none);
  EXPECT_EQ(c.next_deadline(facts), kStart + 16s);
  EXPECT_EQ(next(16s), Move::enter_cleaning_up);
}

TEST_F(CoordinatorTest, Gauges_that_report_idle_open_the_gate) {
  drain_now();
  facts.in_flight_known = false;
  facts.gauges_idle = true;
  EXPECT_EQ(next(2s), Move::enter_cleaning_up);
}

TEST_F(CoordinatorTest, No_gate_is_empty_while_peers_of_an_earlier_life_are_expected) {
  drain_now();
  facts.recovering = true;
  EXPECT_EQ(next(20s), Move::none);
  auto const at = c.next_deadline(facts);
  EXPECT_TRUE(!at || *at > kStart + 20s) << "a timer of the past would spin";
  facts.recovering = false;
  EXPECT_EQ(next(21s), Move::enter_cleaning_up);
}

TEST_F(CoordinatorTest, A_drain_has_no_deadline_and_rests_in_drained) {
  serve();
  c.begin_drain(kStart, std::nullopt);
  next(0s);
  ASSERT_EQ(next(1s), Move::enter_draining);
  facts.graceful = 1;
  EXPECT_EQ(next(10'000s), Move::none);
  EXPECT_FALSE(c.next_deadline(facts));
  facts.graceful = 0;
  EXPECT_EQ(next(10'001s), Move::enter_drained);
  EXPECT_EQ(next(10'002s), Move::none);
  c.resume(kStart + 10'003s, true);
  EXPECT_EQ(c.phase(), Phase::serving);
}

TEST_F(CoordinatorTest, A_stop_joins_a_drain_and_keeps_the_finished_phases) {
  serve();
  c.begin_drain(kStart, std::nullopt);
  next(0s);
  ASSERT_EQ(next(1s), Move::enter_draining);
  ASSERT_EQ(next(1s), Move::enter_drained);
  stop(100s);
  EXPECT_EQ(c.deadline(), kStart + 160s);
  EXPECT_EQ(next(100s), Move::enter_cleaning_up);
  EXPECT_EQ(c.phases().record(Phase::deregistering).outcome, PhaseOutcome::completed);
}

TEST_F(CoordinatorTest, A_stop_while_starting_is_abbreviated) {
  stop();
  EXPECT_EQ(c.phase(), Phase::cleaning_up);
  EXPECT_TRUE(c.stop()->in_starting);
  EXPECT_EQ(c.deadline(), kStart + 5s);
}

TEST_F(CoordinatorTest, A_fatal_stop_has_5_seconds) {
  serve();
  c.begin_stop(kStart + 3s, {CauseKind::dead, {}}, StopMode::fatal, kStart + 3s, false);
  EXPECT_EQ(c.phase(), Phase::cleaning_up);
  EXPECT_EQ(c.deadline(), kStart + 8s);
}

TEST_F(CoordinatorTest, An_aborted_drain_moves_the_deadline_closer_and_never_away) {
  drain_now();
  c.abort_drain(kStart + 10s, kFatalTotal);
  EXPECT_EQ(c.deadline(), kStart + 15s);
  EXPECT_EQ(c.phase(), Phase::cleaning_up);
  c.abort_drain(kStart + 14s, kFatalTotal);
  EXPECT_EQ(c.deadline(), kStart + 15s);
}

TEST_F(CoordinatorTest, A_restored_stop_keeps_its_deadline_and_its_cancel_points) {
  drain_now();
  ShutdownCoordinator other{settings};
  other.restore(kStart + 20s, c.progress());
  EXPECT_EQ(other.phase(), Phase::draining);
  EXPECT_EQ(other.deadline(), kStart + 60s);
  facts.graceful = 1;
  EXPECT_EQ(other.next_deadline(facts), kStart + 54s);
}

}  // namespace
}  // namespace lastcall::lifecycle
