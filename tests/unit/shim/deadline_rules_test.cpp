#include "shim/deadline_rules.hpp"

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

constexpr Instant kStop = instant_from_ms(100'000);

Instant at(std::int64_t ms_after_stop) {
  return kStop + Duration{ms_after_stop};
}

StopClock running_clock() {
  StopClock clock(Duration{60'000}, std::nullopt);
  clock.begin(kStop);
  return clock;
}

Due due_in(State state, Standing standing, StopClock const& clock) {
  Situation situation;
  situation.state = state;
  situation.standing = standing;
  situation.engine_ended_at = at(10'000);
  situation.start_due = at(-90'000);
  std::optional<Due> const due = next_due(situation, clock);
  EXPECT_TRUE(due.has_value());
  return due.value_or(Due{Event::start_due, {}});
}

TEST(DeadlineRules, Own_deadline_is_the_smallest_of_all_graces) {
  StopClock clock(Duration{60'000}, Duration{28'000});
  clock.begin(kStop);
  EXPECT_EQ(clock.deadline(), at(28'000));
  clock.learn_settings(Duration{20'000}, std::nullopt);
  EXPECT_EQ(clock.deadline(), at(20'000));
  clock.learn_settings(Duration{90'000}, std::nullopt);
  EXPECT_EQ(clock.deadline(), at(28'000));
}

TEST(DeadlineRules, Deadline_is_never_nearer_than_a_second_by_settings_alone) {
  StopClock clock(Duration{0}, Duration{-2'000});
  clock.begin(kStop);
  EXPECT_EQ(clock.deadline(), at(1'000));
}

TEST(DeadlineRules, First_stop_fixes_the_beginning) {
  StopClock clock = running_clock();
  clock.begin(at(5'000));
  EXPECT_EQ(clock.deadline(), at(60'000));
}

TEST(DeadlineRules, Received_deadline_replaces_the_own_one_and_the_last_one_counts) {
  StopClock clock = running_clock();
  clock.learn_deadline(at(5), at(40'000));
  EXPECT_EQ(clock.deadline(), at(40'000));
  clock.learn_deadline(at(10'000), at(15'000));
  EXPECT_EQ(clock.deadline(), at(15'000));
}

TEST(DeadlineRules, Margins_come_from_the_whole_stop_and_from_the_rest_once_it_was_shortened) {
  StopClock clock = running_clock();
  clock.learn_deadline(at(7'000), at(8'000));
  EXPECT_EQ(clock.current_margins().kill, Duration{1'000}) << "8 s counted from the signal";
  clock.learn_deadline(at(7'500), at(12'500));
  EXPECT_EQ(clock.current_margins().kill, Duration{625}) << "5 s are left";
  clock.learn_deadline(at(9'000), at(12'500));
  EXPECT_EQ(clock.current_margins().kill, Duration{625}) << "repeated after a reconnect";
}

TEST(DeadlineRules, Without_a_supervisor_the_engine_gets_its_signal_at_once) {
  Due const due = due_in(State::holding, Standing::never, running_clock());
  EXPECT_EQ(due.event, Event::term_due);
  EXPECT_LE(due.at, kStop);
}

TEST(DeadlineRules, Gone_supervisor_has_until_the_reserve) {
  EXPECT_EQ(due_in(State::holding, Standing::gone, running_clock()).at, at(55'000));
  StopClock clock = running_clock();
  clock.learn_settings(std::nullopt, Duration{12'000});
  EXPECT_EQ(due_in(State::holding, Standing::gone, clock).at, at(48'000));
  clock.learn_settings(std::nullopt, Duration{0});
  EXPECT_EQ(due_in(State::holding, Standing::gone, clock).at, at(58'500)) << "and no longer";
}

TEST(DeadlineRules, Present_supervisor_has_until_a_second_and_a_half_before_the_deadline) {
  EXPECT_EQ(due_in(State::holding, Standing::present, running_clock()).at, at(58'500));
}

TEST(DeadlineRules, Kill_comes_a_second_before_the_deadline_and_the_end_at_it) {
  for (Standing const standing : {Standing::never, Standing::present, Standing::gone}) {
    EXPECT_EQ(due_in(State::stopping, standing, running_clock()).at, at(59'000));
    EXPECT_EQ(due_in(State::killing, standing, running_clock()).at, at(60'000));
  }
}

TEST(DeadlineRules, Supervisor_has_five_seconds_after_the_engine_or_until_the_deadline) {
  StopClock const idle(Duration{60'000}, std::nullopt);
  EXPECT_EQ(due_in(State::ended, Standing::present, idle).at, at(15'000));
  EXPECT_EQ(due_in(State::ended, Standing::gone, idle).at, at(15'000));
  StopClock clock = running_clock();
  clock.learn_deadline(at(1), at(12'000));
  EXPECT_EQ(due_in(State::ended, Standing::present, clock).at, at(12'000));
  EXPECT_LE(due_in(State::ended, Standing::never, clock).at, kStop);
}

TEST(DeadlineRules, Stop_that_began_before_the_engine_was_started_has_its_whole_time) {
  Situation situation;
  situation.state = State::ended;
  situation.engine_started = false;
  situation.engine_ended_at = at(0);
  situation.tree_ended_at = at(0);
  situation.standing = Standing::present;
  EXPECT_EQ(next_due(situation, running_clock())->at, at(60'000));
  situation.standing = Standing::gone;
  EXPECT_EQ(next_due(situation, running_clock())->at, at(5'000)) << "another one needs no shim";
  situation.has_service = true;
  EXPECT_EQ(next_due(situation, running_clock())->at, at(55'000)) << "as long as an engine is held";
}

TEST(DeadlineRules, With_a_running_deadline_there_is_always_a_next_step) {
  for (int state = 0; state < kStateCount; ++state) {
    bool const needs_none = State(state) == State::running || State(state) == State::leaving;
    for (Standing const standing : {Standing::never, Standing::present, Standing::gone}) {
      Situation situation;
      situation.state = State(state);
      situation.standing = standing;
      EXPECT_EQ(next_due(situation, running_clock()).has_value(), !needs_none) << state;
    }
  }
}

Situation ended_at(std::int64_t ms) {
  Situation situation;
  situation.state = State::ended;
  situation.standing = Standing::present;
  situation.engine_ended_at = at(ms);
  situation.engine_ordered = true;
  return situation;
}

TEST(DeadlineRules, Rest_of_an_ordered_engine_has_its_grace_within_the_deadline) {
  Situation situation = ended_at(10'000);
  EXPECT_EQ(rest_kill_at(situation, running_clock()), at(20'000));
  situation.engine_ended_at = at(58'700);
  EXPECT_EQ(rest_kill_at(situation, running_clock()), at(59'000));
  situation.engine_ordered = false;
  EXPECT_FALSE(rest_kill_at(situation, running_clock()).has_value()) << "it was not ordered";
}

TEST(DeadlineRules, Grace_of_the_rest_is_the_supervisors_once_it_has_sent_it) {
  StopClock clock = running_clock();
  clock.learn_rest_grace(Duration{3'000});
  EXPECT_EQ(rest_kill_at(ended_at(10'000), clock), at(13'000));
}

TEST(DeadlineRules, Supervisor_has_five_seconds_after_the_last_of_the_tree) {
  Situation situation = ended_at(10'000);
  EXPECT_EQ(next_due(situation, running_clock())->at, at(25'000)) << "the whole grace, and 5 s";
  situation.tree_ended_at = at(12'000);
  EXPECT_EQ(next_due(situation, running_clock())->at, at(17'000));
  situation.tree_ended_at = at(21'500);
  EXPECT_EQ(next_due(situation, running_clock())->at, at(25'000)) << "KILL took its time";
}

TEST(DeadlineRules, Alone_the_shim_waits_for_the_rest_of_the_tree_and_for_nothing_else) {
  Situation situation = ended_at(10'000);
  situation.standing = Standing::never;
  EXPECT_EQ(next_due(situation, running_clock())->at, at(20'000));
  situation.tree_ended_at = at(12'000);
  EXPECT_EQ(next_due(situation, running_clock())->at, at(12'000));
}

TEST(DeadlineRules, Resource_tracker_has_a_moment_after_all_others_within_the_deadline) {
  StopClock const idle(Duration{60'000}, std::nullopt);
  EXPECT_EQ(tracker_kill_at(at(1'000), at(2'000), idle), at(3'000));
  EXPECT_EQ(tracker_kill_at(std::nullopt, at(2'000), idle), at(4'000)) << "others live";
  EXPECT_EQ(tracker_kill_at(at(59'000), at(59'100), running_clock()), at(59'500));
}

TEST(DeadlineRules, Leaving_ends_even_if_a_process_cannot_be_killed) {
  StopClock const idle(Duration{60'000}, std::nullopt);
  EXPECT_EQ(give_up_at(at(0), idle), at(5'000));
  EXPECT_EQ(give_up_at(at(59'000), running_clock()), at(60'000));
  EXPECT_EQ(give_up_at(at(60'000), running_clock()), at(60'100)) << "dying takes a moment";
}

TEST(DeadlineRules, A_stuck_supervisor_of_our_own_does_not_hold_the_exit_past_the_deadline) {
  StopClock const idle(Duration{60'000}, std::nullopt);
  EXPECT_EQ(service_end_at(at(0), {}, idle), at(1'000)) << "it may end by itself";
  EXPECT_EQ(service_end_at(at(30'000), {}, running_clock()), at(31'000));
  EXPECT_EQ(service_end_at(at(59'500), {}, running_clock()), at(60'000));
  EXPECT_EQ(service_end_at(at(60'000), {}, running_clock()), at(60'100));
}

TEST(DeadlineRules, A_reader_of_the_log_that_is_away_is_waited_for_five_seconds_within_the_stop) {
  EXPECT_EQ(service_end_at(at(10'000), at(12'000), running_clock()), at(13'000));
  EXPECT_EQ(service_end_at(at(10'000), at(30'000), running_clock()), at(16'000));
  EXPECT_EQ(service_end_at(at(58'000), at(59'900), running_clock()), at(60'000)) << "never past D";
  EXPECT_EQ(last_words_wait(at(10'000), running_clock()), Duration{5'000});
  EXPECT_EQ(last_words_wait(at(57'000), running_clock()), Duration{2'900});
  EXPECT_EQ(last_words_wait(at(60'000), running_clock()), Duration{0});
  StopClock const idle(Duration{60'000}, std::nullopt);
  EXPECT_EQ(service_end_at(at(0), at(30'000), idle), at(5'000));
  EXPECT_EQ(last_words_wait(at(10'000), idle), kLastWords);
}

}  // namespace
}  // namespace lastcall::shim
