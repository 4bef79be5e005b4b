#include "core/recovery.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kRestart = instant_from_ms(1'000'000);

TEST(Recovery, Ends_by_itself_where_nobody_reports_an_earlier_life) {
  Recovery recovery;
  recovery.started(kRestart);
  EXPECT_EQ(recovery.next_deadline(), kRestart + kRecoveryWindow);
  recovery.update(kRestart + kRecoveryWindow - 1ms, 0);
  EXPECT_FALSE(recovery.is_over());
  recovery.update(kRestart + kRecoveryWindow, 0);
  EXPECT_TRUE(recovery.is_over());
  EXPECT_EQ(recovery.next_deadline(), std::nullopt);
}

TEST(Recovery, Commands_wait_for_it_and_are_taken_once) {
  Recovery recovery;
  recovery.started(kRestart);
  EXPECT_TRUE(recovery.hold(DrainRequested{.exit = true}));
  EXPECT_TRUE(recovery.hold(ResumeRequested{}));
  recovery.end();
  EXPECT_FALSE(recovery.hold(ResumeRequested{}));
  EXPECT_EQ(recovery.take_held().size(), 2U);
  EXPECT_FALSE(recovery.has_held());
}

TEST(Recovery, Peers_of_an_earlier_life_are_awaited_until_all_are_back) {
  Recovery recovery;
  recovery.restored(kRestart, "boot", true, 2, 1);
  EXPECT_TRUE(recovery.awaits_peers());
  recovery.update(kRestart + 1s, 1);
  EXPECT_TRUE(recovery.awaits_peers());
  recovery.update(kRestart + 1s, 2);
  EXPECT_FALSE(recovery.awaits_peers());
}

TEST(Recovery, And_no_longer_than_the_window) {
  Recovery recovery;
  recovery.restored(kRestart, "boot", true, 2, 0);
  recovery.update(kRestart + kRecoveryWindow, 0);
  EXPECT_FALSE(recovery.awaits_peers());
}

TEST(Recovery, Peers_that_did_not_come_back_in_time_are_missing_until_all_are_back) {
  Recovery recovery;
  recovery.restored(kRestart, "boot", true, 2, 0);
  EXPECT_TRUE(recovery.misses_peers());
  recovery.update(kRestart + kRecoveryWindow, 1);
  EXPECT_TRUE(recovery.misses_peers());
  recovery.update(kRestart + kRecoveryWindow + 1s, 2);
  EXPECT_FALSE(recovery.misses_peers());
  recovery.update(kRestart + kRecoveryWindow + 2s, 0);  // they end, as peers do
  EXPECT_FALSE(recovery.misses_peers());
}

TEST(Recovery, Peers_that_were_missing_before_a_drain_are_not_part_of_it) {
  Recovery recovery;
  recovery.restored(kRestart, "boot", true, 1, 0);
  recovery.drain_begins();
  EXPECT_TRUE(recovery.misses_peers()) << "it is still awaited";
  recovery.update(kRestart + kRecoveryWindow, 0);
  EXPECT_TRUE(recovery.misses_peers());
  recovery.drain_begins();
  EXPECT_FALSE(recovery.misses_peers());
}

TEST(Recovery, Those_that_were_back_before_the_blob_are_not_awaited) {
  Recovery recovery;
  recovery.restored(kRestart, "boot", true, 2, 2);
  EXPECT_FALSE(recovery.awaits_peers());
}

TEST(Recovery, A_fingerprint_differs_by_what_is_held) {
  Recovery one;
  Recovery other;
  one.hold(DrainRequested{.exit = true});
  other.hold(DrainRequested{.exit = false});
  Mixer first{kRestart};
  Mixer second{kRestart};
  one.fingerprint(first, false);
  other.fingerprint(second, false);
  EXPECT_NE(first.hash, second.hash);
}

}  // namespace
}  // namespace lastcall::lifecycle
