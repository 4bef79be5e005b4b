#include "core/own_end.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;
using EndOrder = OwnEnd::Order;
using Stage = OwnEnd::Stage;

constexpr Instant kSignal = instant_from_ms(1'000'000);

struct OwnEndTest : testing::Test {
  OwnEndTest() {
    facts.budgets = budgets_within(ShutdownSettings{}, 62s);
    facts.registries_settled = false;
    own.begin_restart(kSignal);
  }
  EndOrder next(Duration at) { return own.next(kSignal + at, facts); }
  Duration stop_cancel() const {
    return facts.budgets.stop_cancel_at(facts.budgets.deadline(kSignal)) - kSignal;
  }
  Duration kill_cancel() const {
    return facts.budgets.kill_cancel_at(facts.budgets.deadline(kSignal)) - kSignal;
  }
  void have_relayed() {
    facts.ingress_has_relayed = true;
    facts.ingress_is_empty = false;
  }

  OwnEnd own;
  OwnEnd::Facts facts;
};

TEST_F(OwnEndTest, It_waits_for_a_signal_of_the_shim_before_it_deregisters) {
  EXPECT_EQ(next(1'999ms), EndOrder::none);
  EXPECT_EQ(own.stage(), Stage::announced);
  EXPECT_EQ(own.next_deadline(), kSignal + 2s);
  EXPECT_EQ(next(2s), EndOrder::deregister);
}

TEST_F(OwnEndTest, Without_anything_relayed_it_ends_as_soon_as_the_registries_have_settled) {
  next(2s);
  EXPECT_EQ(next(3s), EndOrder::none);
  facts.registries_settled = true;
  EXPECT_EQ(next(3s), EndOrder::exit);
}

TEST_F(OwnEndTest, Registries_that_hang_hold_it_for_their_timeout_alone) {
  next(2s);
  EXPECT_EQ(next(6'999ms), EndOrder::none);
  EXPECT_EQ(next(7s), EndOrder::exit);
}

TEST_F(OwnEndTest, Late_requests_are_served_until_nobody_sends_any_more) {
  have_relayed();
  facts.registries_settled = true;
  next(2s);
  EXPECT_EQ(next(2s), EndOrder::none);
  EXPECT_EQ(own.stage(), Stage::accepting);
  EXPECT_FALSE(own.refuses());
  EXPECT_EQ(own.next_deadline(), kSignal + 2s + kUntilUnready);
  facts.ingress_is_empty = true;
  EXPECT_EQ(next(4s), EndOrder::none) << "one may still come";
  EXPECT_EQ(next(5s), EndOrder::exit);
}

TEST_F(OwnEndTest, Requests_are_stopped_and_killed_at_the_cancel_points_of_a_stop) {
  have_relayed();
  facts.registries_settled = true;
  next(2s);
  next(2s);
  EXPECT_EQ(next(5s), EndOrder::none);
  EXPECT_TRUE(own.refuses());
  EXPECT_EQ(next(stop_cancel()), EndOrder::stop_relayed);
  EXPECT_EQ(next(stop_cancel()), EndOrder::none) << "asked once";
  EXPECT_EQ(next(kill_cancel()), EndOrder::kill_relayed);
  EXPECT_EQ(own.next_deadline(), kSignal + kill_cancel() + facts.budgets.settle);
  EXPECT_EQ(next(kill_cancel() + facts.budgets.settle), EndOrder::exit);
}

TEST_F(OwnEndTest, A_second_signal_changes_nothing_and_a_stop_takes_over) {
  own.begin_restart(kSignal + 1s);
  EXPECT_EQ(own.signalled_at(), kSignal);
  own.stop_begins();
  EXPECT_FALSE(own.is_restarting());
  EXPECT_EQ(own.next_deadline(), std::nullopt);
  EXPECT_EQ(next(60s), EndOrder::none);
}

}  // namespace
}  // namespace lastcall::lifecycle
