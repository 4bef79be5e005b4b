#include "core/responsiveness.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin = instant_from_ms(1'000'000);

constexpr Instant in(Duration d) {
  return kBegin + d;
}

class ResponsivenessTest : public ::testing::Test {
 protected:
  Silence at(Duration d) {
    machine.update(in(d), signs);
    auto const next = machine.next_deadline(signs);
    EXPECT_TRUE(!next || *next > in(d)) << "its next deadline is past";
    return machine.silence();
  }
  std::optional<Instant> next() const { return machine.next_deadline(signs); }

  Responsiveness machine;
  Responsiveness::Signs signs;
};

TEST_F(ResponsivenessTest, A_check_may_be_unanswered_for_5_seconds) {
  signs.unanswered_since = in(1s);
  EXPECT_EQ(at(5'999ms), Silence::none);
  EXPECT_EQ(next(), in(6s));
  EXPECT_EQ(at(6s), Silence::checks);
  signs.unanswered_since.reset();
  signs.check_at = in(7s);
  EXPECT_EQ(at(7s), Silence::none);
  EXPECT_FALSE(next());
}

TEST_F(ResponsivenessTest, A_byte_breaks_it_while_the_check_stays_unanswered) {
  signs.unanswered_since = in(0s);
  EXPECT_EQ(at(5s), Silence::checks);
  signs.progress_at = in(6s);
  EXPECT_EQ(at(6s), Silence::none);
  EXPECT_EQ(next(), in(15s)) << "11 s by the limit, and one fall in 10 s";
  EXPECT_EQ(at(14'999ms), Silence::none);
  EXPECT_EQ(at(15s), Silence::checks);
}

TEST_F(ResponsivenessTest, Tokens_may_stand_still_for_twice_the_longest_first_token) {
  EXPECT_EQ(machine.patience(), 60s);
  machine.first_token(200ms);
  EXPECT_EQ(machine.patience(), 5s);
  machine.first_token(4s);
  machine.first_token(1s);
  EXPECT_EQ(machine.patience(), 8s);
  signs.work_since = in(0s);
  signs.tokens_at = in(7s);
  EXPECT_EQ(at(9s), Silence::none) << "the counter may have moved since it was read";
  signs.tokens_at = in(9s);
  EXPECT_EQ(at(9s), Silence::tokens);
}

TEST_F(ResponsivenessTest, Checks_that_pass_do_not_break_the_silence_of_tokens) {
  machine.first_token(1s);
  signs.work_since = in(0s);
  signs.tokens_at = in(6s);
  ASSERT_EQ(at(6s), Silence::tokens);
  signs.check_at = in(8s);
  EXPECT_EQ(at(8s), Silence::tokens);
  signs.progress_at = in(9s);
  EXPECT_EQ(at(9s), Silence::none);
}

TEST_F(ResponsivenessTest, A_stopped_process_that_a_canary_asks_is_not_forgiven_without_an_answer) {
  signs.idle_since = in(0s);
  machine.process_stopped(in(0s), "core", true);
  EXPECT_EQ(at(0s), Silence::process);
  EXPECT_FALSE(next());
  EXPECT_EQ(at(60s), Silence::process);
  Responsiveness unproven = machine;
  unproven.no_proof_comes();
  unproven.update(in(60s), signs);
  EXPECT_EQ(unproven.silence(), Silence::none);
  signs.progress_at = in(61s);
  EXPECT_EQ(at(61s), Silence::none);
}

TEST_F(ResponsivenessTest, The_silence_of_tokens_is_forgiven_when_the_clients_have_left) {
  machine.first_token(1s);
  signs.work_since = in(0s);
  signs.tokens_at = in(6s);
  ASSERT_EQ(at(6s), Silence::tokens);
  EXPECT_FALSE(next()) << "as long as there is work";
  signs.work_since.reset();
  signs.idle_since = in(10s);
  EXPECT_EQ(at(10s), Silence::tokens);
  EXPECT_EQ(next(), in(25s));
  signs.canary_since = in(20s);
  EXPECT_EQ(at(25s), Silence::tokens) << "a canary is about to decide";
  signs.canary_since.reset();
  EXPECT_EQ(at(26s), Silence::none);
}

TEST_F(ResponsivenessTest, Lines_sent_before_a_process_was_stopped_are_no_sign_of_life) {
  machine.process_stopped(in(1s), "vllm", false);
  signs.progress_at = in(1'200ms);
  EXPECT_EQ(at(1'200ms), Silence::process);
  signs.progress_at = in(1'500ms);
  EXPECT_EQ(at(1'500ms), Silence::none);
}

TEST_F(ResponsivenessTest, Out_of_one_silence_into_another_is_the_same_fall) {
  machine.process_stopped(in(0s), "vllm", false);
  ASSERT_EQ(at(0s), Silence::process);
  signs.unanswered_since = in(1s);
  signs.canary_since = in(1s);
  EXPECT_EQ(at(3s), Silence::process);
  signs.unanswered_since.reset();
  signs.check_at = in(7s);
  EXPECT_EQ(at(7s), Silence::canary);
  EXPECT_EQ(machine.fell_silent_at(), in(0s));
}

TEST_F(ResponsivenessTest, Restored_it_waits_for_what_would_have_broken_it) {
  machine.restore(in(0s), Silence::checks);
  EXPECT_EQ(at(1s), Silence::checks);
  signs.check_at = in(2s);
  EXPECT_EQ(at(2s), Silence::none);
  Responsiveness other;
  other.restore(in(0s), Silence::none);
  EXPECT_FALSE(other.fell_silent_at()) << "nothing was restored, and nothing holds the next fall";
}

TEST_F(ResponsivenessTest, A_canary_of_an_earlier_life_is_not_waited_for) {
  machine.restore(in(0s), Silence::canary);
  EXPECT_EQ(at(0s), Silence::tokens);
  signs.idle_since = in(0s);
  EXPECT_EQ(at(15s), Silence::none);
}

}  // namespace
}  // namespace lastcall::lifecycle
