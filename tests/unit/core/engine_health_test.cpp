#include "core/engine_health.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kHealthStart = instant_from_ms(0);

HealthSettings settings(std::size_t checks = 1, std::uint32_t threshold = 2) {
  HealthSettings s;
  for (std::size_t i = 0; i < checks; ++i) {
    s.checks.push_back({.name = "c" + std::to_string(i), .failure_threshold = threshold});
  }
  return s;
}

struct Engine {
  explicit Engine(HealthSettings s) : health(std::move(s)) {
    health.startup.process_known(true);
    health.startup.engine_started(kHealthStart);
  }
  Verdict check(Duration at, CheckVerdict verdict, std::uint32_t which = 0) {
    health.check_finished(kHealthStart + at, {.check = which, .verdict = verdict, .detail = "why"});
    return pass_time(at);
  }
  Verdict pass_time(Duration at) {
    health.update(kHealthStart + at);
    return health.verdict();
  }
  EngineHealth health;
};

TEST(EngineHealth, Starts_when_every_check_has_passed_once) {
  Engine e(settings(2));
  EXPECT_EQ(e.check(1s, CheckVerdict::passed, 0), Verdict::starting);
  EXPECT_FALSE(e.health.started());
  EXPECT_EQ(e.check(2s, CheckVerdict::passed, 1), Verdict::healthy);
  EXPECT_TRUE(e.health.started());
}

TEST(EngineHealth, Is_not_dead_because_nobody_could_ask_it) {
  Engine e(settings(1));
  e.check(0s, CheckVerdict::passed);
  e.check(2s, CheckVerdict::timed_out);
  for (int at = 4; at < 200; at += 2) {
    ASSERT_EQ(e.check(at * 1s, CheckVerdict::not_asked), Verdict::busy) << at;
  }
  EXPECT_EQ(e.health.reason(), "check 'c0' could not be run: why");
  // Its silence counts from the next check on that was asked.
  EXPECT_EQ(e.check(200s, CheckVerdict::timed_out), Verdict::busy);
  EXPECT_EQ(e.pass_time(229s), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(230s), Verdict::dead);
}

TEST(EngineHealth, A_check_that_could_not_be_asked_neither_starts_it_nor_forgives_it) {
  Engine e(settings(1));
  EXPECT_EQ(e.check(1s, CheckVerdict::not_asked), Verdict::starting);
  e.check(2s, CheckVerdict::passed);
  e.check(3s, CheckVerdict::failed);
  EXPECT_NE(e.check(4s, CheckVerdict::not_asked), Verdict::dead);
  EXPECT_EQ(e.check(5s, CheckVerdict::failed), Verdict::dead);
}

TEST(EngineHealth, Needs_the_process_where_a_shim_is_known) {
  Engine e(settings(0));
  EXPECT_EQ(e.pass_time(1s), Verdict::healthy);
  e.health.reset();
  e.health.startup.process_known(true);
  EXPECT_EQ(e.pass_time(2s), Verdict::starting);
}

TEST(EngineHealth, After_a_shims_engine_a_passing_check_is_no_proof_of_the_next_one) {
  EngineHealth health(settings(1));
  health.await_process();
  CheckFinished const passed{.check = 0, .verdict = CheckVerdict::passed, .detail = "why"};
  health.check_finished(kHealthStart, passed);
  health.update(kHealthStart);
  EXPECT_FALSE(health.started());
  EXPECT_EQ(health.reason(), "waiting for the next engine's process");
  health.startup.process_known(true);
  health.startup.engine_started(kHealthStart + 1s);
  health.update(kHealthStart + 1s);
  EXPECT_EQ(health.verdict(), Verdict::healthy);
}

TEST(EngineHealth, Cannot_start_when_there_is_nothing_to_judge_by) {
  EngineHealth health(settings(0));
  health.update(kHealthStart);
  EXPECT_EQ(health.verdict(), Verdict::starting);
  EXPECT_EQ(health.reason(),
            "no shim has reported the engine's process, and no check is configured");
}

TEST(EngineHealth, Forgives_a_loading_engine_every_failure) {
  Engine e(settings());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(e.check(2s * i, i % 2 == 0 ? CheckVerdict::failed : CheckVerdict::timed_out),
              Verdict::starting);
  }
  EXPECT_FALSE(e.health.next_deadline());
}

TEST(EngineHealth, Is_dead_after_consecutive_definite_failures) {
  Engine e(settings(1, 3));
  e.check(0s, CheckVerdict::passed);
  EXPECT_NE(e.check(1s, CheckVerdict::failed), Verdict::dead);
  EXPECT_NE(e.check(2s, CheckVerdict::failed), Verdict::dead);
  EXPECT_NE(e.check(3s, CheckVerdict::passed), Verdict::dead);
  EXPECT_NE(e.check(4s, CheckVerdict::failed), Verdict::dead);
  EXPECT_NE(e.check(5s, CheckVerdict::failed), Verdict::dead);
  EXPECT_EQ(e.check(6s, CheckVerdict::failed), Verdict::dead);
  EXPECT_NE(e.health.reason().find("c0"), std::string::npos);
  EXPECT_NE(e.health.reason().find("why"), std::string::npos);
}

TEST(EngineHealth, Counts_failures_for_each_check_alone) {
  Engine e(settings(2));
  e.check(0s, CheckVerdict::passed, 0);
  e.check(0s, CheckVerdict::passed, 1);
  EXPECT_NE(e.check(1s, CheckVerdict::failed, 0), Verdict::dead);
  EXPECT_NE(e.check(1s, CheckVerdict::failed, 1), Verdict::dead);
  EXPECT_EQ(e.check(2s, CheckVerdict::failed, 1), Verdict::dead);
}

TEST(EngineHealth, Takes_a_timeout_for_slowness_until_unresponsive_after) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  EXPECT_EQ(e.check(2s, CheckVerdict::timed_out), Verdict::busy);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 7s);
  EXPECT_EQ(e.pass_time(7s), Verdict::unresponsive);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 32s);
  EXPECT_EQ(e.pass_time(31'999ms), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(32s), Verdict::dead);
}

TEST(EngineHealth, A_byte_of_any_request_postpones_the_end_of_a_slow_engine) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.check(2s, CheckVerdict::timed_out);
  e.health.progress.moved(kHealthStart + 20s);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 25s);
  EXPECT_EQ(e.pass_time(25s), Verdict::unresponsive);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 50s);
  EXPECT_EQ(e.pass_time(49s), Verdict::unresponsive);
  EXPECT_EQ(e.check(49'500ms, CheckVerdict::passed), Verdict::healthy);
  EXPECT_FALSE(e.health.next_deadline());
}

TEST(EngineHealth, A_busy_answer_is_an_answer) {
  Engine e(settings(1, 2));
  e.check(0s, CheckVerdict::passed);
  e.check(1s, CheckVerdict::failed);
  EXPECT_EQ(e.check(2s, CheckVerdict::busy), Verdict::busy);
  EXPECT_NE(e.check(3s, CheckVerdict::failed), Verdict::dead);
}

TEST(EngineHealth, Is_wedged_only_where_asked_and_with_work_in_flight) {
  HealthSettings s = settings();
  s.stalled_after = Duration{10s};
  Engine e(s);
  e.check(0s, CheckVerdict::passed);
  EXPECT_EQ(e.pass_time(100s), Verdict::healthy);
  e.health.progress.in_flight(kHealthStart + 100s, 1);
  e.health.progress.moved(kHealthStart + 105s);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 115s);
  e.health.progress.in_flight(kHealthStart + 114s, 0);
  EXPECT_EQ(e.pass_time(115s), Verdict::healthy);
  e.health.progress.in_flight(kHealthStart + 120s, 3);
  EXPECT_EQ(e.pass_time(130s), Verdict::wedged);
}

/// A reading of gauges with live tokens, as long after the start as that.
Verdict read_tokens(Engine& e, Duration at, bool with_work) {
  e.health.progress.tokens_read(TokensRead{kHealthStart + at, with_work});
  return e.pass_time(at);
}

Engine with_live_tokens() {
  HealthSettings s = settings();
  s.tokens_show_stalls = true;
  Engine e(s);
  e.check(0s, CheckVerdict::passed);
  e.health.progress.in_flight(kHealthStart, 1);
  return e;
}

TEST(EngineHealth, Live_tokens_that_stand_still_for_long_are_wedged_without_a_limit_being_set) {
  Engine e = with_live_tokens();
  e.health.responsiveness.first_token(1s);
  EXPECT_EQ(read_tokens(e, 119s, true), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(121s), Verdict::unresponsive) << "the counter may have moved since";
  EXPECT_EQ(read_tokens(e, 121s, true), Verdict::wedged);
  EXPECT_EQ(e.health.reason(), "requests in flight and no progress for 120 s");
}

TEST(EngineHealth, That_limit_is_above_any_prefill_seen_so_far) {
  Engine e = with_live_tokens();
  e.health.responsiveness.first_token(50s);
  EXPECT_EQ(read_tokens(e, 199s, true), Verdict::unresponsive);
  EXPECT_EQ(read_tokens(e, 200s, true), Verdict::wedged);
}

TEST(EngineHealth, That_limit_is_long_where_no_first_token_was_seen_or_the_gauges_show_no_work) {
  Engine unseen = with_live_tokens();
  EXPECT_EQ(read_tokens(unseen, 299s, true), Verdict::unresponsive);
  EXPECT_EQ(read_tokens(unseen, 300s, true), Verdict::wedged);
  Engine at_zero = with_live_tokens();
  at_zero.health.responsiveness.first_token(1s);
  EXPECT_EQ(read_tokens(at_zero, 299s, false), Verdict::unresponsive);
  EXPECT_EQ(read_tokens(at_zero, 300s, false), Verdict::wedged);
}

TEST(EngineHealth, A_limit_of_zero_is_never) {
  HealthSettings s = settings();
  s.tokens_show_stalls = true;
  s.stalled_after = Duration{0};
  Engine e(s);
  e.check(0s, CheckVerdict::passed);
  e.health.progress.in_flight(kHealthStart, 1);
  EXPECT_EQ(read_tokens(e, 3'600s, true), Verdict::unresponsive);
}

TEST(EngineHealth, A_canary_may_wait_behind_the_longest_prefill) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.responsiveness.first_token(20s);
  e.health.progress.canary_sent(kHealthStart + 10s);
  EXPECT_EQ(e.pass_time(89s), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(90s), Verdict::wedged);
}

TEST(EngineHealth, An_unanswered_canary_is_wedged_though_every_check_passes) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.progress.canary_sent(kHealthStart + 10s);
  e.health.progress.canary_sent(kHealthStart + 20s);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 15s) << "counted from the first";
  EXPECT_EQ(e.pass_time(15s), Verdict::unresponsive);
  EXPECT_EQ(e.health.reason(),
            "a request of one token was not answered for 5 s and no byte of any request moved");
  EXPECT_EQ(e.check(39s, CheckVerdict::passed), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(40s), Verdict::wedged);
  EXPECT_EQ(e.health.reason(),
            "a request of one token was not answered for 30 s and no byte of any request moved");
}

TEST(EngineHealth, A_byte_of_any_request_postpones_the_end_that_a_canary_would_bring) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.progress.canary_sent(kHealthStart + 10s);
  e.health.progress.moved(kHealthStart + 35s);
  EXPECT_NE(e.pass_time(64s), Verdict::wedged);
  EXPECT_EQ(e.pass_time(65s), Verdict::wedged);
}

TEST(EngineHealth, An_answered_canary_is_progress) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.check(2s, CheckVerdict::timed_out);
  e.health.progress.canary_sent(kHealthStart + 10s);
  canary_answered(e.health, kHealthStart + 12s, CanarySilence::Answer::proof);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 17s) << "the check's silence, from then on";
  e.check(13s, CheckVerdict::passed);
  EXPECT_EQ(e.pass_time(100s), Verdict::healthy);
}

TEST(EngineHealth, A_canary_that_was_dropped_proves_nothing) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.check(2s, CheckVerdict::timed_out);
  e.health.progress.canary_sent(kHealthStart + 10s);
  canary_answered(e.health, kHealthStart + 12s, CanarySilence::Answer::unproven);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 7s) << "the check's silence alone";
  EXPECT_EQ(e.pass_time(31'999ms), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(32s), Verdict::dead);
}

TEST(EngineHealth, A_canary_answered_with_nothing_is_silence_that_is_never_fatal) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.progress.canary_sent(kHealthStart + 10s);
  canary_answered(e.health, kHealthStart + 11s, CanarySilence::Answer::empty);
  EXPECT_EQ(e.pass_time(15'999ms), Verdict::healthy);
  EXPECT_EQ(e.pass_time(16s), Verdict::unresponsive);
  EXPECT_EQ(e.health.reason(),
            "a request of one token was answered with status 200 and an empty "
            "body");
  e.health.progress.canary_sent(kHealthStart + 40s);
  canary_answered(e.health, kHealthStart + 41s, CanarySilence::Answer::empty);
  EXPECT_EQ(e.pass_time(600s), Verdict::unresponsive);
  e.health.progress.canary_sent(kHealthStart + 610s);
  canary_answered(e.health, kHealthStart + 611s, CanarySilence::Answer::proof);
  EXPECT_EQ(e.pass_time(611s), Verdict::healthy);
}

TEST(EngineHealth, A_canary_that_nobody_answers_after_an_empty_one_has_its_own_time) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.progress.canary_sent(kHealthStart + 10s);
  canary_answered(e.health, kHealthStart + 11s, CanarySilence::Answer::empty);
  e.health.progress.canary_sent(kHealthStart + 40s);
  EXPECT_EQ(e.pass_time(69s), Verdict::unresponsive);
  EXPECT_EQ(e.pass_time(70s), Verdict::wedged);
}

TEST(EngineHealth, A_canary_sent_before_our_own_absence_counts_anew) {
  Engine e(settings());
  e.check(0s, CheckVerdict::passed);
  e.health.progress.canary_sent(kHealthStart + 10s);
  e.health.restart_silence(kHealthStart + 60s);
  EXPECT_NE(e.pass_time(60s), Verdict::wedged);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 65s);
  EXPECT_EQ(e.pass_time(65s), Verdict::unresponsive);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 90s);
}

TEST(EngineHealth, Startup_timeout_ends_an_engine_that_never_gets_ready) {
  HealthSettings s = settings();
  s.startup_timeout = Duration{60s};
  Engine e(s);
  EXPECT_EQ(e.health.next_deadline(), kHealthStart + 60s);
  EXPECT_EQ(e.pass_time(60s), Verdict::dead);
}

TEST(EngineHealth, Startup_timeout_counts_from_a_start_that_an_earlier_life_saw) {
  HealthSettings s = settings();
  s.startup_timeout = Duration{60s};
  EngineHealth health(s);
  health.startup.engine_started(kHealthStart + 40s, kHealthStart);
  EXPECT_EQ(health.next_deadline(), kHealthStart + 70s)
      << "what was not looked at yet may be ready";
  health.startup.engine_started(kHealthStart + 20s, kHealthStart);
  EXPECT_EQ(health.next_deadline(), kHealthStart + 60s);
  health.startup.engine_started(kHealthStart, kHealthStart + 5s);
  EXPECT_EQ(health.next_deadline(), kHealthStart + 60s) << "nothing starts after it was seen";
}

TEST(EngineHealth, A_dead_verdict_is_final_until_reset) {
  Engine e(settings(1, 1));
  e.check(0s, CheckVerdict::passed);
  ASSERT_EQ(e.check(1s, CheckVerdict::failed), Verdict::dead);
  EXPECT_EQ(e.check(2s, CheckVerdict::passed), Verdict::dead);
  e.health.reset();
  e.health.startup.engine_started(kHealthStart + 3s);
  EXPECT_EQ(e.check(4s, CheckVerdict::passed), Verdict::healthy);
  EXPECT_EQ(e.check(5s, CheckVerdict::failed), Verdict::dead) << "a second outage is one again";
}

TEST(EngineHealth, A_restored_engine_was_up_already) {
  Engine e(settings(1, 1));
  e.health.startup.assume_over();
  EXPECT_EQ(e.pass_time(0s), Verdict::healthy);
  EXPECT_EQ(e.check(1s, CheckVerdict::failed), Verdict::dead);
}

}  // namespace
}  // namespace lastcall::lifecycle
