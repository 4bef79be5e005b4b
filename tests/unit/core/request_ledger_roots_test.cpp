// Cancels by id and by root, over all peers.
#include <optional>
#include <random>

#include "tests/unit/core/ledger_fixture.hpp"

namespace lastcall::lifecycle {
namespace {

struct RequestLedgerRoots : LedgerTest {
  void part(PeerId peer, std::string id, std::string root) {
    RequestBegun request;
    request.peer = peer;
    request.id = std::move(id);
    request.root = std::move(root);
    ledger.begin(now, request, 0, false);
  }
  std::size_t stop_root(RequestLedger& of, std::string_view root,
                        std::optional<PeerId> peer = std::nullopt) {
    return of.cancel_root(now, peer, root, CancelMode::stop, CancelReason::operator_);
  }
};

TEST_F(RequestLedgerRoots, An_id_is_cancelled_at_every_peer_that_has_it) {
  begin(1, "r");
  begin(2, "r");
  begin(2, "other");
  EXPECT_EQ(ledger.cancel_id(now, "r", CancelMode::stop, CancelReason::operator_), 2U);
  EXPECT_EQ(sent(1), Lines{"stop r"});
  EXPECT_EQ(sent(2), Lines{"stop r"});
  EXPECT_EQ(ledger.cancel_id(now, "none", CancelMode::stop, CancelReason::operator_), 0U);
}

TEST_F(RequestLedgerRoots, A_root_is_cancelled_with_all_its_parts_in_the_order_of_their_begin) {
  part(1, "second", "r");
  begin(1, "r");
  part(1, "third", "r");
  part(2, "elsewhere", "r");
  part(1, "not", "another");
  EXPECT_EQ(stop_root(ledger, "r"), 4U);
  EXPECT_EQ(sent(1), (Lines{"stop r", "stop second", "stop third"}));
  EXPECT_EQ(sent(2), Lines{"stop elsewhere"});
}

TEST_F(RequestLedgerRoots, A_peer_reaches_its_own_parts_only) {
  part(1, "own", "r");
  part(2, "not_own", "r");
  EXPECT_EQ(stop_root(ledger, "r", 1), 1U);
  EXPECT_EQ(state("not_own"), RequestState::live);
}

TEST_F(RequestLedgerRoots, A_request_of_that_id_that_belongs_to_another_root_is_left_alone) {
  part(1, "r", "another");
  EXPECT_EQ(stop_root(ledger, "r"), 0U);
}

TEST_F(RequestLedgerRoots, A_part_that_moved_to_a_new_connection_is_reached_there) {
  part(1, "p", "r");
  ledger.peer_disconnected(now, 1);
  ledger.peer_connected(3);
  EXPECT_EQ(begin(3, "p", {}, true), RequestLedger::Begin::adopted);
  EXPECT_EQ(stop_root(ledger, "r", 3), 1U);
}

/// Against a walk over everything, whatever began, ended and was copied before.
TEST_F(RequestLedgerRoots, It_finds_what_a_walk_over_all_requests_finds) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto const pick = [&random](unsigned below) { return random() % below; };
    RequestLedger one;
    for (unsigned i = 0; i < 60; ++i) {
      std::string const id = "r" + std::to_string(pick(12));
      RequestBegun request;
      request.peer = 1 + pick(3);
      request.id = id;
      request.root = pick(3) == 0 ? "" : "r" + std::to_string(pick(4));
      if (pick(3) == 0) {
        one.end(now, request.peer, id, Outcome::completed);
      } else {
        one.begin(now, request, 0, false);
      }
    }
    RequestLedger copy = one;
    for (RequestLedger* const each : {&one, &copy}) {
      std::string const root = "r" + std::to_string(pick(4));
      std::optional<PeerId> const of = pick(2) == 0 ? std::nullopt : std::optional<PeerId>(2);
      std::size_t wanted = 0;
      each->for_each(
          [&](RequestView const& view) {
            wanted +=
                view.root == root && (!of || view.peer == *of) && view.state == RequestState::live;
          },
          endpoints);
      EXPECT_EQ(stop_root(*each, root, of), wanted) << "seed " << seed;
      each->for_each(
          [&](RequestView const& view) {
            bool const is_meant = view.root == root && (!of || view.peer == *of);
            EXPECT_EQ(view.state != RequestState::live, is_meant) << "seed " << seed;
          },
          endpoints);
    }
  }
}

}  // namespace
}  // namespace lastcall::lifecycle
