#include "tests/unit/core/ledger_fixture.hpp"

namespace lastcall::lifecycle {
namespace {

struct RequestLedgerIngress : LedgerTest {
  void relay(std::string id, std::optional<bool> streaming = std::nullopt) {
    RequestBegun request;
    request.peer = kIngressPeer;
    request.id = std::move(id);
    request.stream = streaming;
    ASSERT_EQ(ledger.begin(now, request, 0, false), RequestLedger::Begin::begun);
  }
  void begin_of(std::string id, std::string root) {
    RequestBegun request;
    request.peer = 1;
    request.id = std::move(id);
    request.root = std::move(root);
    ASSERT_EQ(ledger.begin(now, request, 0, false), RequestLedger::Begin::begun);
  }
};

TEST_F(RequestLedgerIngress, An_sdk_request_of_the_same_id_or_root_counts_with_the_relayed_one) {
  relay("r");
  begin(1, "r");
  begin_of("sub", "r");
  EXPECT_EQ(ledger.in_flight(), 3U);
  EXPECT_EQ(ledger.roots_in_flight(), 1U);
  begin_of("other", "x");
  EXPECT_EQ(ledger.roots_in_flight(), 2U);
}

TEST_F(RequestLedgerIngress, A_cancel_of_the_relayed_request_reaches_its_sdk_request_once) {
  relay("r", true);
  begin(1, "r");
  EXPECT_EQ(
      ledger.cancel_id(now, kIngressPeer, "r", CancelMode::kill, CancelReason::client_disconnect),
      2U);
  EXPECT_EQ(sent(1), (Lines{"kill r"}));
  ASSERT_EQ(ledger.news.cancelled.size(), 1U) << "counted once";
  EXPECT_EQ(ledger.news.cancelled[0].stream, true);
}

TEST_F(RequestLedgerIngress, An_sdk_request_outlives_the_relayed_one_and_then_counts_itself) {
  relay("r");
  begin(1, "r");
  EXPECT_TRUE(ledger.end(now, kIngressPeer, "r", Outcome::cancelled));
  EXPECT_EQ(ledger.roots_in_flight(), 1U);
  EXPECT_TRUE(ledger.end(now, 1, "r", Outcome::cancelled));
  EXPECT_EQ(ledger.roots_in_flight(), 0U);
}

TEST_F(RequestLedgerIngress, A_relayed_request_fails_because_its_part_was_handed_off) {
  struct Row {
    CancelReason reason;
    Outcome of_part;
    Outcome reported;
    Outcome settled;
  };
  for (Row const& row :
       {Row{CancelReason::migrate, Outcome::cancelled, Outcome::error, Outcome::migrated},
        Row{CancelReason::migrate, Outcome::migrated, Outcome::error, Outcome::migrated},
        Row{CancelReason::migrate, Outcome::migrated, Outcome::completed, Outcome::completed},
        Row{CancelReason::migrate, Outcome::error, Outcome::error, Outcome::error},
        Row{CancelReason::operator_, Outcome::cancelled, Outcome::error, Outcome::error}}) {
    relay("r");
    begin(1, "r");
    stop("r", row.reason);
    ledger.end(now, 1, "r", row.of_part);
    ledger.end(now, kIngressPeer, "r", row.reported);
    EXPECT_TRUE(ledger.news.settled.back().counted);
    EXPECT_EQ(ledger.news.settled.back().outcome, row.settled) << name(row.of_part);
  }
}

TEST_F(RequestLedgerIngress, A_parent_that_is_named_goes_before_the_relayed_request) {
  relay("r");
  begin(1, "p");
  RequestBegun request;
  request.peer = 1;
  request.id = "c";
  request.root = "r";
  request.parent = "p";
  ledger.begin(now, request, 0, false);
  ledger.cancel_id(now, kIngressPeer, "r", CancelMode::stop, CancelReason::operator_);
  EXPECT_EQ(state("c"), RequestState::live);
}

}  // namespace
}  // namespace lastcall::lifecycle
