#include "shim/attempts.hpp"

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

constexpr Instant after_ms(int ms) {
  return kAtOnce + Duration{ms};
}

TEST(Attempts, The_first_is_due_at_once) {
  EXPECT_TRUE(Attempts().is_due(kAtOnce));
}

TEST(Attempts, After_a_loss_they_are_frequent_for_one_second) {
  Attempts attempts;
  for (int const lost_at : {0, 10'000}) {
    attempts.lost(after_ms(lost_at));
    EXPECT_EQ(attempts.next(), after_ms(lost_at + 50));
    EXPECT_FALSE(attempts.is_due(after_ms(lost_at + 49)));
    EXPECT_TRUE(attempts.is_due(after_ms(lost_at + 50)));
    attempts.failed(after_ms(lost_at + 999), ENOENT);
    EXPECT_EQ(attempts.next(), after_ms(lost_at + 1'049));
    attempts.failed(after_ms(lost_at + 1'000), ENOENT);
    EXPECT_EQ(attempts.next(), after_ms(lost_at + 1'500));
    attempts.succeeded();
    attempts.welcomed();
  }
}

TEST(Attempts, A_refusal_as_busy_makes_only_the_next_pause_longer) {
  Attempts attempts;
  attempts.refused_as_busy();
  attempts.lost(kAtOnce);
  EXPECT_EQ(attempts.next(), after_ms(100));
  attempts.lost(after_ms(100));
  EXPECT_EQ(attempts.next(), after_ms(150));
}

TEST(Attempts, A_supervisor_that_is_about_to_listen_is_looked_for_eagerly_again) {
  Attempts attempts;
  attempts.begin(kAtOnce);
  attempts.failed(after_ms(2'000), ENOENT);
  attempts.look_eagerly(after_ms(2'100));
  EXPECT_EQ(attempts.next(), after_ms(2'150));
  attempts.look_eagerly(after_ms(2'120));
  EXPECT_EQ(attempts.next(), after_ms(2'150)) << "it postpones nothing";
  attempts.failed(after_ms(2'150), ENOENT);
  EXPECT_EQ(attempts.next(), after_ms(2'200));
}

TEST(Attempts, A_failure_is_reported_once_until_it_changes_or_a_supervisor_was_there) {
  Attempts attempts;
  attempts.begin(kAtOnce);
  EXPECT_EQ(attempts.take_trouble(kAtOnce), 0);
  attempts.failed(kAtOnce, EACCES);
  EXPECT_EQ(attempts.take_trouble(kAtOnce), EACCES);
  attempts.failed(after_ms(50), EACCES);
  EXPECT_EQ(attempts.take_trouble(after_ms(50)), 0);
  attempts.failed(after_ms(100), EMFILE);
  EXPECT_EQ(attempts.take_trouble(after_ms(100)), EMFILE);
  attempts.succeeded();
  attempts.welcomed();
  attempts.lost(after_ms(200));
  attempts.failed(after_ms(250), EMFILE);
  EXPECT_EQ(attempts.take_trouble(after_ms(250)), EMFILE);
}

TEST(Attempts, A_missing_listener_is_reported_once_a_supervisor_has_had_the_time_to_start) {
  for (int const nobody : {ENOENT, ECONNREFUSED, EAGAIN}) {
    Attempts attempts;
    attempts.begin(kAtOnce);
    attempts.failed(after_ms(999), nobody);
    EXPECT_EQ(attempts.take_trouble(after_ms(999)), 0);
    attempts.failed(after_ms(1'000), nobody);
    EXPECT_EQ(attempts.take_trouble(after_ms(1'000)), nobody);
  }
}

TEST(Attempts, An_attempt_that_is_kept_out_proves_nothing_about_the_supervisor) {
  Attempts attempts;
  EXPECT_FALSE(attempts.is_kept_out());
  for (int const nobody : {ENOENT, ECONNREFUSED, EAGAIN}) {
    attempts.failed(kAtOnce, nobody);
    EXPECT_FALSE(attempts.is_kept_out()) << nobody;
  }
  for (int const other : {EACCES, EPERM, ENOTDIR, EMFILE}) {
    attempts.failed(kAtOnce, other);
    EXPECT_TRUE(attempts.is_kept_out()) << other;
  }
  attempts.succeeded();
  EXPECT_FALSE(attempts.is_kept_out());
}

}  // namespace
}  // namespace lastcall::shim
