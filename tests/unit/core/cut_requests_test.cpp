#include "core/cut_requests.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr Instant kCutAt = instant_from_ms(1'000);
constexpr Cut kLeft{.mode = CancelMode::kill, .relayed = true};

RequestBegun begun(PeerId peer, std::string id, std::string root = {}, std::string parent = {}) {
  RequestBegun request;
  request.peer = peer;
  request.id = std::move(id);
  request.root = std::move(root);
  request.parent = std::move(parent);
  return request;
}

TEST(CutRequests, Relayed_requests_are_remembered_by_id_root_and_parent) {
  CutRequests cut;
  cut.ended(kCutAt, "r", kLeft);
  EXPECT_TRUE(cut.begun(kCutAt, begun(1, "r")));
  EXPECT_TRUE(cut.begun(kCutAt, begun(1, "part", "r")));
  EXPECT_TRUE(cut.begun(kCutAt, begun(1, "part", "other", "r")));
  EXPECT_FALSE(cut.begun(kCutAt, begun(1, "other")));
}

TEST(CutRequests, The_mode_is_kept_as_it_was) {
  CutRequests cut;
  cut.ended(kCutAt, "r", {.mode = CancelMode::stop, .relayed = true});
  auto const late = cut.begun(kCutAt, begun(1, "r"));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->mode, CancelMode::stop);
}

TEST(CutRequests, An_id_that_the_ingress_relays_anew_is_forgotten) {
  CutRequests cut;
  cut.ended(kCutAt, "r", kLeft);
  EXPECT_FALSE(cut.begun(kCutAt, begun(kIngressPeer, "r")));
  EXPECT_FALSE(cut.begun(kCutAt, begun(1, "r")));
  EXPECT_EQ(cut.size(), 0U);
}

TEST(CutRequests, An_id_that_an_engine_announced_itself_may_be_used_again) {
  CutRequests cut;
  cut.ended(kCutAt, "r", {.mode = CancelMode::kill, .relayed = false});
  EXPECT_TRUE(cut.begun(kCutAt, begun(1, "part", "r")));
  EXPECT_FALSE(cut.begun(kCutAt, begun(1, "r")));
  EXPECT_FALSE(cut.begun(kCutAt, begun(1, "part", "r"))) << "of the new one";
}

TEST(CutRequests, The_engines_part_does_not_replace_the_relayed_one) {
  CutRequests cut;
  cut.ended(kCutAt, "r", kLeft);
  cut.ended(kCutAt, "r", {.mode = CancelMode::stop, .relayed = false});
  auto const late = cut.begun(kCutAt, begun(1, "r"));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->mode, CancelMode::kill);
}

TEST(CutRequests, A_minute_later_it_is_forgotten) {
  CutRequests cut;
  cut.ended(kCutAt, "r", kLeft);
  EXPECT_TRUE(cut.begun(kCutAt + CutRequests::kMemory - Duration{1}, begun(1, "r")));
  EXPECT_FALSE(cut.begun(kCutAt + CutRequests::kMemory, begun(1, "r")));
  cut.ended(kCutAt + CutRequests::kMemory, "other", kLeft);
  EXPECT_EQ(cut.size(), 1U);
}

TEST(CutRequests, An_id_that_is_cut_again_is_remembered_from_then_on) {
  CutRequests cut;
  cut.ended(kCutAt, "r", kLeft);
  cut.ended(kCutAt + Duration{30'000}, "r", kLeft);
  cut.ended(kCutAt + CutRequests::kMemory, "other", kLeft);
  EXPECT_TRUE(cut.begun(kCutAt + CutRequests::kMemory, begun(1, "r")));
}

TEST(CutRequests, The_oldest_makes_room) {
  CutRequests cut;
  for (std::size_t i = 0; i < CutRequests::kMost + 2; ++i) {
    cut.ended(kCutAt, "r" + std::to_string(i), kLeft);
  }
  EXPECT_EQ(cut.size(), CutRequests::kMost);
  EXPECT_FALSE(cut.begun(kCutAt, begun(1, "r1")));
  EXPECT_TRUE(cut.begun(kCutAt, begun(1, "r2")));
}

TEST(CutRequests, A_part_of_what_another_engine_still_works_on_is_wanted) {
  Lifecycle core{Settings{}};
  core.step(kCutAt, SupervisorStarted{});
  Instant const now = kCutAt + Duration{3'000};
  core.step(now, TimerExpired{});
  for (PeerId const peer : {PeerId{1}, PeerId{2}}) {
    core.step(now, PeerConnected{.peer = peer});
    core.step(now, begun(peer, "r"));
  }
  core.step(now, CancelRequested{.by = PeerId{1}, .ids = {"r"}, .root = {}});
  core.step(now, RequestEnded{1, "r", Outcome::cancelled});
  core.step(now, begun(2, "part", "r"));
  EXPECT_TRUE(core.take_cancels(2, 16).ids.empty());
}

// --- with the ledger: the ingress and an engine, whose facts come in any order -------------------

/// The engine sends `confirm` and `end` only once it has received the cancel, as SDKs do, or ends
/// by itself. Its connection may end and come back at any moment.
enum class Step : std::uint8_t { leave, end_relayed, begin, end_own, drop, back, time };

constexpr std::array kSteps{Step::leave, Step::end_relayed, Step::begin, Step::end_own,
                            Step::drop,  Step::back,        Step::time};

class TwoPeers {
 public:
  explicit TwoPeers(bool asks, bool same_id) : asks_(asks), id_(same_id ? "r" : "part") {
    settings_.admission.running = 4;
    core_.emplace(settings_);
    feed(SupervisorStarted{});
    now_ += Duration{2'000};
    feed(TimerExpired{});
    connect();
    RequestBegun relayed = begun(kIngressPeer, "r");
    relayed.admit = true;
    feed(relayed);
  }

  void take(Step step) {
    switch (step) {
      case Step::leave:
        feed(CancelRequested{.by = kIngressPeer,
                             .ids = {"r"},
                             .root = {},
                             .mode = CancelMode::kill,
                             .reason = CancelReason::client_disconnect});
        break;
      case Step::end_relayed:
        feed(RequestEnded{kIngressPeer, "r", Outcome::cancelled});
        break;
      case Step::begin:
        runs_ = true;
        announce(false);
        break;
      case Step::end_own:
        if (runs_ && connected_) {
          feed(RequestEnded{conn_, id_, Outcome::completed});
        }
        runs_ = false;
        break;
      case Step::drop:
        connected_ = false;
        feed(PeerDisconnected{conn_});
        break;
      case Step::back:
        connect();
        if (runs_) {
          announce(true);
        }
        break;
      case Step::time:
        now_ += Duration{20};
        feed(TimerExpired{});
        break;
    }
    take_orders();
  }

  /// Until all that went away without a word is known to be lost.
  void settle() {
    now_ += settings_.reconnect_window;
    feed(TimerExpired{});
  }

  std::size_t in_flight() const { return core_->requests().in_flight(); }
  bool engine_works() const { return runs_; }
  int settled() const { return settled_; }
  int cancels() const { return cancels_; }
  std::size_t places() const { return core_->admission().running(); }

 private:
  void feed(Event const& event) {
    for (Action const& action : core_->step(now_, event)) {
      settled_ += std::holds_alternative<RequestSettled>(action) ? 1 : 0;
      cancels_ += std::holds_alternative<CancelCounted>(action) ? 1 : 0;
      auto const* reject = std::get_if<Reject>(&action);
      runs_ = runs_ && (reject == nullptr || reject->peer == kIngressPeer);
    }
  }
  void connect() {
    connected_ = true;
    ++conn_;
    feed(PeerConnected{.peer = conn_, .name = "engine", .live = runs_ ? 1U : 0U});
  }
  void announce(bool resumed) {
    if (!connected_) {
      return;  // it reports it once it is back
    }
    RequestBegun request = begun(conn_, id_, "r");
    request.admit = asks_ && !resumed;
    request.resumed = resumed;
    feed(request);
  }
  /// What the engine does with the cancels that wait for it.
  void take_orders() {
    while (connected_) {
      CancelBatch const batch = core_->take_cancels(conn_, 16);
      if (batch.ids.empty()) {
        return;
      }
      runs_ = false;
      feed(CancelConfirmed{conn_, id_});
      feed(RequestEnded{conn_, id_, Outcome::cancelled});
    }
  }

  bool asks_;
  std::string id_;
  Settings settings_;
  std::optional<Lifecycle> core_;
  Instant now_ = kCutAt;
  PeerId conn_ = 0;
  bool connected_ = false;
  bool runs_ = false;
  int settled_ = 0;
  int cancels_ = 0;
};

bool is_possible(std::span<Step const> order) {
  auto const at = [&](Step step) { return std::find(order.begin(), order.end(), step); };
  return at(Step::leave) < at(Step::end_relayed) && at(Step::drop) < at(Step::back) &&
         at(Step::begin) < at(Step::end_own);
}

TEST(CutRequests, In_every_order_no_orphan_stays_and_nothing_is_counted_twice) {
  std::array<Step, kSteps.size()> order = kSteps;
  int orders = 0;
  do {
    if (!is_possible(order)) {
      continue;
    }
    ++orders;
    for (bool const asks : {false, true}) {
      for (bool const same_id : {false, true}) {
        TwoPeers world(asks, same_id);
        std::string order_text;
        for (Step const step : order) {
          order_text += std::to_string(static_cast<int>(step));
          world.take(step);
        }
        world.settle();
        SCOPED_TRACE("order " + order_text + (asks ? ", asks" : "") + (same_id ? ", same id" : ""));
        EXPECT_EQ(world.in_flight(), 0U);
        EXPECT_FALSE(world.engine_works());
        EXPECT_EQ(world.settled(), 1);
        EXPECT_EQ(world.cancels(), 1);
        EXPECT_EQ(world.places(), 0U);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 630);
}

}  // namespace
}  // namespace lastcall::lifecycle
