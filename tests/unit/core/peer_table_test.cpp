#include "core/peer_table.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;
using Due = PeerTable::Due;

constexpr Instant kConnected = instant_from_ms(1'000'000);

struct PeerTableTest : testing::Test {
  void connect(PeerId peer, std::string name, std::uint32_t live = 0) {
    peers.connected({.peer = peer, .name = std::move(name), .live = live});
  }
  Due due(Duration at, bool engine_has_exited = false) {
    return peers.next_due(kConnected + at, engine_has_exited).due;
  }

  PeerTable peers;
};

TEST_F(PeerTableTest, One_that_is_not_back_in_time_is_lost) {
  connect(1, "a");
  peers.disconnected(kConnected, 1, 5s);
  EXPECT_EQ(peers.next_deadline(), kConnected + 5s);
  EXPECT_EQ(due(4'999ms), Due::none);
  EXPECT_EQ(due(5s), Due::lost);
  EXPECT_EQ(due(5s), Due::none) << "reported once";
  EXPECT_TRUE(peers.remove(1));
  EXPECT_FALSE(peers.remove(1));
}

TEST_F(PeerTableTest, A_watched_critical_peer_loses_only_its_requests) {
  peers.connected({.peer = 1, .name = "a", .critical = true, .watched = true});
  peers.disconnected(kConnected, 1, 5s);
  EXPECT_EQ(due(5s), Due::requests_lost);
  EXPECT_TRUE(peers.knows(1));
}

TEST_F(PeerTableTest, It_is_back_when_what_its_hello_promised_was_announced) {
  connect(1, "a", 2);
  connect(2, "b");
  EXPECT_EQ(peers.returned(), 1U);
  peers.announced_again(1);
  EXPECT_EQ(peers.returned(), 1U);
  peers.announced_again(1);
  peers.announced_again(1);
  EXPECT_EQ(peers.returned(), 2U);
}

TEST_F(PeerTableTest, A_cleanup_waits_for_those_that_were_connected) {
  connect(1, "a");
  connect(2, "b");
  peers.disconnected(kConnected, 2, 5s);
  peers.ask_to_clean_up();
  EXPECT_TRUE(peers.are_cleaning_up());
  peers.cleaned_up(1);
  EXPECT_FALSE(peers.are_cleaning_up());
  EXPECT_EQ(peers.unclean_text(), "");
}

TEST_F(PeerTableTest, One_that_leaves_before_it_is_done_is_unclean_after_a_moment) {
  connect(1, "a");
  peers.ask_to_clean_up();
  peers.disconnected(kConnected, 1, 5s);
  EXPECT_EQ(due(999ms), Due::none);
  EXPECT_TRUE(peers.are_cleaning_up());
  due(1s);
  EXPECT_FALSE(peers.are_cleaning_up());
  EXPECT_EQ(peers.unclean_text(), "'a' disconnected before cleanup.done");
}

TEST_F(PeerTableTest, With_the_engine_gone_nobody_comes_back_to_clean_up) {
  connect(1, "a");
  peers.ask_to_clean_up();
  peers.disconnected(kConnected, 1, 5s);
  due(0s, true);
  EXPECT_FALSE(peers.are_cleaning_up());
}

TEST_F(PeerTableTest, One_that_comes_back_is_asked_again_and_its_answer_counts) {
  connect(1, "a");
  peers.ask_to_clean_up();
  peers.disconnected(kConnected, 1, 5s);
  connect(2, "a");
  peers.ask_late({.peer = 2, .name = "a"});
  due(1s);
  EXPECT_TRUE(peers.are_cleaning_up());
  peers.cleaned_up(2);
  EXPECT_FALSE(peers.are_cleaning_up());
  EXPECT_EQ(peers.unclean_text(), "");
}

TEST_F(PeerTableTest, Even_when_its_time_was_over_already) {
  connect(1, "a");
  peers.ask_to_clean_up();
  peers.disconnected(kConnected, 1, 5s);
  due(1s);
  connect(2, "a");
  peers.ask_late({.peer = 2, .name = "a"});
  peers.cleaned_up(2);
  EXPECT_EQ(peers.unclean_text(), "");
}

TEST_F(PeerTableTest, A_source_stays_one_while_it_is_away_and_counts_as_here_only_when_connected) {
  connect(1, "a");
  EXPECT_FALSE(peers.has_source());
  peers.became_source(1);
  EXPECT_EQ(peers.sources(), 1U);
  peers.disconnected(kConnected, 1, 5s);
  EXPECT_TRUE(peers.has_source());
  EXPECT_EQ(peers.sources(), 0U);
  EXPECT_FALSE(peers.has_connected());
}

}  // namespace
}  // namespace lastcall::lifecycle
