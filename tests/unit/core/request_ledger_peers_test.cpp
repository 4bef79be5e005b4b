#include "tests/unit/core/ledger_fixture.hpp"

namespace lastcall::lifecycle {
namespace {

using RequestLedgerPeers = LedgerTest;

TEST_F(RequestLedgerPeers, A_peer_touches_only_its_own_requests) {
  begin(1, "r");
  EXPECT_FALSE(ledger.owns(2, "r"));
  EXPECT_FALSE(ledger.end(now, 2, "r", Outcome::completed));
  EXPECT_FALSE(ledger.confirm(now, 2, "r"));
  EXPECT_EQ(ledger.cancel_id(now, 2, "r", CancelMode::stop, CancelReason::control), 0U);
  EXPECT_EQ(state("r"), RequestState::live);
}

TEST_F(RequestLedgerPeers, A_batch_holds_what_has_the_same_mode_and_reason) {
  for (char const* const id : {"a", "b", "c", "d"}) {
    begin(1, id);
  }
  stop("a", CancelReason::migrate);
  stop("b", CancelReason::migrate);
  kill("c");
  stop("d", CancelReason::migrate);
  auto batch = ledger.take_cancels(1, 100);
  EXPECT_EQ(batch.ids, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(batch.reason, CancelReason::migrate);
  batch = ledger.take_cancels(1, 100);
  EXPECT_EQ(batch.ids, (std::vector<std::string_view>{"c"}));
  EXPECT_EQ(batch.mode, CancelMode::kill);
  EXPECT_EQ(ledger.take_cancels(1, 100).ids, (std::vector<std::string_view>{"d"}));
  EXPECT_TRUE(ledger.take_cancels(1, 100).ids.empty());
}

TEST_F(RequestLedgerPeers, A_batch_is_never_longer_than_asked) {
  for (int i = 0; i < 10; ++i) {
    begin(1, std::to_string(i));
  }
  ledger.cancel_all(now, CancelMode::stop, CancelReason::grace_timeout);
  EXPECT_EQ(ledger.take_cancels(1, 4).ids.size(), 4U);
  EXPECT_EQ(ledger.take_cancels(1, 4).ids.size(), 4U);
  EXPECT_EQ(ledger.take_cancels(1, 4).ids.size(), 2U);
}

TEST_F(RequestLedgerPeers, A_kill_that_overtakes_a_waiting_stop_is_sent_once) {
  begin(1, "r");
  stop("r");
  kill("r");
  EXPECT_EQ(sent(), Lines{"kill r"});
}

TEST_F(RequestLedgerPeers, A_kill_after_a_sent_stop_is_sent_too) {
  begin(1, "r");
  stop("r");
  EXPECT_EQ(sent(), Lines{"stop r"});
  kill("r");
  EXPECT_EQ(sent(), Lines{"kill r"});
}

TEST_F(RequestLedgerPeers, A_peer_is_notified_once_that_cancels_wait) {
  begin(1, "a");
  begin(1, "b");
  begin(2, "c");
  ledger.cancel_all(now, CancelMode::stop, CancelReason::operator_);
  EXPECT_EQ(ledger.news.ready, (std::vector<PeerId>{1, 2}));
}

TEST_F(RequestLedgerPeers, Requests_stay_in_flight_while_their_peer_is_away) {
  begin(1, "r");
  ledger.peer_disconnected(now, 1);
  EXPECT_EQ(ledger.in_flight(), 1U);
  stop("r");
  EXPECT_TRUE(ledger.news.ready.empty()) << "no peer is there to be notified";
  ledger.peer_lost(now, 1);
  EXPECT_EQ(ledger.in_flight(), 0U);
  ASSERT_EQ(ledger.news.settled.size(), 1U);
  EXPECT_EQ(ledger.news.settled[0].outcome, Outcome::lost);
  EXPECT_EQ(ledger.unconfirmed(), 0U);
}

TEST_F(RequestLedgerPeers, A_resumed_request_of_a_peer_that_is_away_is_adopted) {
  begin(1, "r");
  begin(1, "child", "r");
  stop("r");
  sent();
  ledger.peer_disconnected(now, 1);
  ledger.peer_connected(3);
  EXPECT_EQ(begin(3, "r", {}, true), RequestLedger::Begin::adopted);
  EXPECT_EQ(ledger.in_flight(), 2U);
  EXPECT_EQ(ledger.news.moved_from.size(), 1U);
  EXPECT_EQ(sent(3), Lines{"stop r"}) << "the new connection has to receive the cancel";
  EXPECT_EQ(ledger.news.cancelled.size(), 1U);
  EXPECT_TRUE(ledger.end(now, 3, "r", Outcome::cancelled));
}

TEST_F(RequestLedgerPeers, A_resumed_request_that_nobody_knows_begins) {
  EXPECT_EQ(begin(1, "r", {}, true), RequestLedger::Begin::begun);
  EXPECT_EQ(begin(2, "r", {}, true), RequestLedger::Begin::begun) << "peer 1 is still connected";
}

TEST_F(RequestLedgerPeers, One_that_ran_before_has_its_age_and_none_is_of_the_future) {
  begin(1, "new");
  for (auto const& [id, ms] : {std::pair("old", 400), std::pair("older", 100)}) {
    RequestBegun request;
    request.peer = 1;
    request.id = id;
    request.resumed = true;
    request.began_at = instant_from_ms(ms);
    ledger.begin(now, request, 0, false);
  }
  EXPECT_EQ(ledger.oldest(), instant_from_ms(100));
  ledger.end(now, 1, "older", Outcome::completed);
  EXPECT_EQ(ledger.news.settled.back().elapsed, Duration{900});
  EXPECT_EQ(ledger.oldest(), instant_from_ms(400));
  ledger.end(now, 1, "old", Outcome::completed);
  EXPECT_EQ(ledger.oldest(), now);
  RequestBegun ahead;
  ahead.peer = 1;
  ahead.id = "ahead";
  ahead.began_at = now + Duration{5'000};
  ledger.begin(now, ahead, 0, false);
  ledger.end(now, 1, "ahead", Outcome::completed);
  EXPECT_EQ(ledger.news.settled.back().elapsed, Duration{0});
}

TEST_F(RequestLedgerPeers, Cancels_are_chosen_in_the_order_of_begin) {
  begin(2, "first");
  begin(1, "second");
  begin(2, "third");
  std::vector<std::string> seen;
  ledger.cancel_where(
      now,
      [&](RequestView const& view) {
        seen.emplace_back(view.id);
        return view.id != "second";
      },
      CancelMode::stop, CancelReason::operator_);
  EXPECT_EQ(seen, (Lines{"first", "second", "third"}));
  EXPECT_EQ(state("second"), RequestState::live);
  EXPECT_EQ(sent(2), (Lines{"stop first", "stop third"}));
}

TEST_F(RequestLedgerPeers, The_oldest_request_is_known) {
  EXPECT_FALSE(ledger.oldest());
  begin(1, "a");
  now += Duration{500};
  begin(1, "b");
  ledger.end(now, 1, "a", Outcome::completed);
  EXPECT_EQ(ledger.oldest(), now);
}

TEST_F(RequestLedgerPeers, A_copy_goes_on_by_itself) {
  begin(1, "kept");
  begin(1, "ended");
  RequestLedger copy = ledger;
  EXPECT_TRUE(ledger.end(now, 1, "ended", Outcome::completed));
  EXPECT_TRUE(copy.owns(1, "ended"));
  EXPECT_TRUE(copy.end(now, 1, "kept", Outcome::completed));
  EXPECT_TRUE(ledger.owns(1, "kept"));
  EXPECT_EQ(copy.in_flight(), 1U);
}

TEST_F(RequestLedgerPeers, Invented_model_names_are_bounded) {
  for (int i = 0; i < 2'000; ++i) {
    RequestBegun request;
    request.peer = 1;
    request.id = std::to_string(i);
    request.model = "model" + std::to_string(i);
    ledger.begin(now, request, 0, false);
    ledger.end(now, 1, request.id, Outcome::completed);
  }
  EXPECT_EQ(ledger.models().name(ledger.news.settled.front().model), "model0");
  EXPECT_EQ(ledger.models().name(ledger.news.settled.back().model), "other");
}

}  // namespace
}  // namespace lastcall::lifecycle
