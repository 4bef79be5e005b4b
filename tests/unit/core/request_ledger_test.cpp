#include "tests/unit/core/ledger_fixture.hpp"

namespace lastcall::lifecycle {
namespace {

using RequestLedgerTree = LedgerTest;

TEST_F(RequestLedgerTree, State_only_rises_and_each_call_returns_whether_it_was_the_first) {
  begin(1, "r");
  EXPECT_EQ(stop("r"), 1U);
  EXPECT_EQ(stop("r"), 0U);
  EXPECT_EQ(state("r"), RequestState::stopped);
  EXPECT_EQ(kill("r"), 1U);  // the first that killed it
  EXPECT_EQ(state("r"), RequestState::killed);
  EXPECT_EQ(kill("r"), 0U);
  EXPECT_EQ(stop("r"), 0U);
  EXPECT_EQ(state("r"), RequestState::killed);
}

TEST_F(RequestLedgerTree, A_cancel_is_counted_once_whatever_arrives_twice) {
  begin(1, "r");
  stop("r", CancelReason::client_disconnect);
  stop("r");
  kill("r");
  ASSERT_EQ(ledger.news.cancelled.size(), 1U);
  EXPECT_EQ(ledger.news.cancelled[0].reason, CancelReason::client_disconnect);
  EXPECT_EQ(ledger.unconfirmed(), 1U);
  EXPECT_EQ(ledger.unconfirmed_since(now), 1U);
  EXPECT_EQ(ledger.unconfirmed_since(now - Duration{1}), 0U);
  EXPECT_TRUE(ledger.confirm(now + Duration{40}, 1, "r"));
  EXPECT_TRUE(ledger.confirm(now + Duration{50}, 1, "r"));
  EXPECT_TRUE(ledger.end(now + Duration{60}, 1, "r", Outcome::cancelled));
  EXPECT_FALSE(ledger.end(now + Duration{60}, 1, "r", Outcome::cancelled));
  ASSERT_EQ(ledger.news.confirmed.size(), 1U);
  EXPECT_EQ(ledger.news.confirmed[0].elapsed, Duration{40});
  EXPECT_EQ(ledger.news.settled.size(), 1U);
  EXPECT_EQ(ledger.unconfirmed(), 0U);
}

TEST_F(RequestLedgerTree, An_end_without_a_confirmation_confirms) {
  begin(1, "r");
  stop("r");
  ledger.end(now + Duration{5}, 1, "r", Outcome::cancelled);
  ASSERT_EQ(ledger.news.confirmed.size(), 1U);
  EXPECT_EQ(ledger.news.confirmed[0].elapsed, Duration{5});
}

TEST_F(RequestLedgerTree, A_handed_off_request_that_ends_cancelled_has_migrated) {
  struct Row {
    CancelReason reason;
    Outcome reported;
    Outcome settled;
  };
  for (Row const& row : {Row{CancelReason::migrate, Outcome::cancelled, Outcome::migrated},
                         Row{CancelReason::grace_timeout, Outcome::cancelled, Outcome::migrated},
                         Row{CancelReason::grace_timeout, Outcome::completed, Outcome::completed},
                         Row{CancelReason::migrate, Outcome::error, Outcome::error},
                         Row{CancelReason::operator_, Outcome::cancelled, Outcome::cancelled}}) {
    begin(1, "r");
    stop("r", row.reason);
    ledger.news.settled.clear();
    ledger.end(now, 1, "r", row.reported);
    ASSERT_EQ(ledger.news.settled.size(), 1U);
    EXPECT_EQ(ledger.news.settled[0].outcome, row.settled) << name(row.reason);
  }
}

TEST_F(RequestLedgerTree, Requests_cut_by_the_engines_death_end_as_engine_dead_however_reported) {
  std::pair<Outcome, Outcome> const cells[] = {{Outcome::cancelled, Outcome::engine_dead},
                                               {Outcome::error, Outcome::engine_dead},
                                               {Outcome::completed, Outcome::completed},
                                               {Outcome::lost, Outcome::lost}};
  for (auto const& [reported, counted] : cells) {
    begin(1, "r");
    ledger.cancel_id(now, 1, "r", CancelMode::kill, CancelReason::engine_dead);
    ledger.end(now, 1, "r", reported);
    EXPECT_EQ(ledger.news.settled.back().outcome, counted) << name(reported);
  }
}

TEST_F(RequestLedgerTree, A_parents_cancel_reaches_children_in_link_order) {
  begin(1, "top");
  begin(1, "a", "top");
  begin(1, "b", "top");
  begin(1, "aa", "a");
  begin(1, "c", "top");
  EXPECT_EQ(stop("top"), 5U);
  EXPECT_EQ(sent(), (Lines{"stop top", "stop a", "stop aa", "stop b", "stop c"}));
}

TEST_F(RequestLedgerTree, A_child_linked_to_a_cancelled_parent_gets_the_same_at_once) {
  begin(1, "top");
  stop("top");
  begin(1, "a", "top");
  EXPECT_EQ(state("a"), RequestState::stopped);
  kill("top");
  EXPECT_EQ(state("a"), RequestState::killed);
  begin(1, "b", "top");
  EXPECT_EQ(state("b"), RequestState::killed);
}

TEST_F(RequestLedgerTree, An_ended_child_is_unlinked_and_its_siblings_stay) {
  begin(1, "top");
  begin(1, "a", "top");
  begin(1, "b", "top");
  begin(1, "c", "top");
  ledger.end(now, 1, "b", Outcome::completed);
  begin(1, "b");  // the same id again, with no parent
  EXPECT_EQ(stop("top"), 3U);
  EXPECT_EQ(state("b"), RequestState::live);
  EXPECT_EQ(sent(), (Lines{"stop top", "stop a", "stop c"}));
}

TEST_F(RequestLedgerTree, Children_of_an_ended_parent_stand_alone) {
  begin(1, "top");
  begin(1, "a", "top");
  begin(1, "b", "top");
  ledger.end(now, 1, "top", Outcome::completed);
  EXPECT_EQ(ledger.in_flight(), 2U);
  EXPECT_EQ(stop("a"), 1U);
  EXPECT_EQ(state("b"), RequestState::live);
}

TEST_F(RequestLedgerTree, Sub_requests_do_not_count_again) {
  begin(1, "top");
  begin(1, "a", "top");
  begin(2, "b", "top");  // another process works for the same user
  EXPECT_EQ(ledger.in_flight(), 3U);
  EXPECT_EQ(ledger.roots_in_flight(), 1U);
  stop("top");
  EXPECT_EQ(ledger.news.cancelled.size(), 1U);
  EXPECT_EQ(sent(2), Lines{"stop b"});
  for (auto const& [peer, id] :
       std::vector<std::pair<PeerId, char const*>>{{1, "a"}, {2, "b"}, {1, "top"}}) {
    ledger.end(now, peer, id, Outcome::cancelled);
  }
  std::size_t counted = 0;
  for (auto const& settled : ledger.news.settled) {
    counted += settled.counted ? 1U : 0U;
  }
  EXPECT_EQ(counted, 1U);
}

TEST_F(RequestLedgerTree, Refuses_a_live_duplicate_and_a_request_that_is_its_own_parent) {
  EXPECT_EQ(begin(1, "r"), RequestLedger::Begin::begun);
  EXPECT_EQ(begin(1, "r"), RequestLedger::Begin::duplicate);
  EXPECT_EQ(begin(2, "r"), RequestLedger::Begin::begun);
  EXPECT_EQ(begin(1, "self", "self"), RequestLedger::Begin::own_parent);
  EXPECT_EQ(ledger.in_flight(), 2U);
}

TEST_F(RequestLedgerTree, A_chain_of_100000_children_is_cancelled_without_recursion) {
  constexpr int kDeep = 100'000;
  begin(1, "0");
  for (int i = 1; i < kDeep; ++i) {
    begin(1, std::to_string(i), std::to_string(i - 1));
  }
  EXPECT_EQ(stop("0"), static_cast<std::size_t>(kDeep));
  EXPECT_EQ(sent().size(), static_cast<std::size_t>(kDeep));
  for (int i = 0; i < kDeep; ++i) {
    ASSERT_TRUE(ledger.end(now, 1, std::to_string(i), Outcome::cancelled));
  }
  EXPECT_EQ(ledger.in_flight(), 0U);
  EXPECT_EQ(ledger.roots_in_flight(), 0U);
}

TEST_F(RequestLedgerTree, 100000_children_of_one_parent_keep_their_order) {
  constexpr int kWide = 100'000;
  begin(1, "top");
  for (int i = 0; i < kWide; ++i) {
    begin(1, std::to_string(i), "top");
  }
  stop("top");
  Lines const lines = sent();
  ASSERT_EQ(lines.size(), kWide + 1U);
  for (int i = 0; i < kWide; ++i) {
    ASSERT_EQ(lines[static_cast<std::size_t>(i) + 1], "stop " + std::to_string(i));
  }
}

TEST_F(RequestLedgerTree, A_place_that_is_used_again_remembers_nothing) {
  for (int round = 0; round < 1'000; ++round) {
    begin(1, "r");
    begin(1, "child", "r");
    ASSERT_EQ(state("r"), RequestState::live);
    ASSERT_EQ(state("child"), RequestState::live);
    kill("r");
    ledger.end(now, 1, "r", Outcome::cancelled);
    ledger.end(now, 1, "child", Outcome::cancelled);
    begin(1, "other");
    ASSERT_EQ(sent(), Lines{}) << "a cancel of an ended request was sent";
    ledger.end(now, 1, "other", Outcome::completed);
  }
  EXPECT_EQ(ledger.in_flight(), 0U);
  EXPECT_EQ(ledger.unconfirmed(), 0U);
}

}  // namespace
}  // namespace lastcall::lifecycle
