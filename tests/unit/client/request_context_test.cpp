// What the table of tests/contract cannot express about the C++ context: its handles, waits and
// callbacks.
#include <thread>

#include <gtest/gtest.h>
#include <lastcall/request_context.hpp>
#include <malloc.h>

namespace lastcall {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RequestContext, Copies_mean_the_same_request) {
  RequestContext const first("r");
  RequestContext const copy = first;
  EXPECT_EQ(first, copy);
  EXPECT_NE(first, RequestContext("r"));
  EXPECT_TRUE(copy.stop());
  EXPECT_TRUE(first.is_stopped());
}

TEST(RequestContext, Without_an_id_each_gets_another_one) {
  EXPECT_EQ(RequestContext().id().size(), 32U);
  EXPECT_NE(RequestContext().id(), RequestContext().id());
}

TEST(RequestContext, An_id_that_is_not_utf_8_is_refused) {
  EXPECT_THROW(RequestContext("a\xff"), std::invalid_argument);
}

TEST(RequestContext, The_cause_is_looked_up_the_tree) {
  RequestContext const top;
  RequestContext const child;
  top.link_child(child);
  top.stop(Reason::migrate);
  EXPECT_EQ(child.reason(), Reason::parent);
  EXPECT_EQ(child.cause(), Reason::migrate);
}

TEST(RequestContext, The_cause_is_found_when_the_child_was_notified_first) {
  RequestContext const top;
  RequestContext const child;
  top.link_child(child);
  child.stop(Reason::parent);
  EXPECT_EQ(child.cause(), Reason::parent);
  top.stop(Reason::grace_timeout);
  EXPECT_EQ(child.cause(), Reason::grace_timeout);
}

TEST(RequestContext, The_state_gives_the_outcome_and_a_word_of_ones_own_beats_it) {
  RequestContext const done;
  EXPECT_FALSE(done.outcome());
  done.end();
  EXPECT_EQ(done.outcome(), Outcome::completed);
  RequestContext const handed_off;
  handed_off.stop(Reason::migrate);
  handed_off.end();
  EXPECT_EQ(handed_off.outcome(), Outcome::migrated);
  RequestContext const cancelled;
  cancelled.kill(Reason::client_disconnect);
  cancelled.end();
  EXPECT_EQ(cancelled.outcome(), Outcome::cancelled);
  RequestContext const died("r");
  died.kill(Reason::engine_dead);
  died.end();
  EXPECT_EQ(died.outcome(), Outcome::engine_dead);
  RequestContext const failed;
  failed.stop();
  failed.end(Outcome::error);
  EXPECT_EQ(failed.outcome(), Outcome::error);
}

TEST(RequestContext, Only_a_cancelled_request_in_flight_can_be_confirmed_and_once) {
  RequestContext const context;
  EXPECT_FALSE(context.confirm());
  context.stop();
  EXPECT_TRUE(context.confirm());
  EXPECT_FALSE(context.confirm());
  RequestContext const over;
  over.stop();
  over.end();
  EXPECT_FALSE(over.confirm());
}

TEST(RequestContext, A_callback_that_was_taken_back_is_not_called) {
  RequestContext const context;
  int calls = 0;
  auto const id = context.on_stop([&](auto const&) { ++calls; });
  EXPECT_TRUE(context.forget(id));
  EXPECT_FALSE(context.forget(id));
  context.kill();
  EXPECT_EQ(calls, 0);
}

TEST(RequestContext, A_wait_ends_with_its_time_or_with_the_cancel_of_another_thread) {
  RequestContext const context;
  EXPECT_FALSE(context.wait_stopped(milliseconds(1)));
  std::thread other([context] { context.stop(); });
  EXPECT_TRUE(context.wait_stopped(seconds(20)));
  EXPECT_FALSE(context.wait_killed(milliseconds(1)));
  other.join();
}

TEST(RequestContext, A_wait_for_a_context_that_went_uncancelled_throws) {
  std::shared_future<void> wait;
  {
    RequestContext const context;
    wait = context.stopped();
  }
  EXPECT_THROW(wait.get(), std::future_error);
}

TEST(RequestContext, A_loop_may_ask_for_the_futures_at_every_token) {
  RequestContext const context;
  constexpr int kTokens = 100'000;
  auto const used_before = ::mallinfo2().uordblks;
  for (int i = 0; i < kTokens; ++i) {
    ASSERT_EQ(context.stopped().wait_for(seconds(0)), std::future_status::timeout);
    ASSERT_EQ(context.killed().wait_for(seconds(0)), std::future_status::timeout);
    ASSERT_EQ(context.async_killed_or_stopped().wait_for(seconds(0)), std::future_status::timeout);
  }
  EXPECT_LT(::mallinfo2().uordblks, used_before + kTokens) << "less than a byte for each";
  context.stop();
  EXPECT_EQ(context.stopped().wait_for(seconds(0)), std::future_status::ready);
  EXPECT_TRUE(context.async_killed_or_stopped().get());
  EXPECT_EQ(context.killed().wait_for(seconds(0)), std::future_status::timeout);
  context.kill();
  EXPECT_EQ(context.killed().wait_for(seconds(0)), std::future_status::ready);
}

TEST(RequestContext, A_callback_may_hold_the_last_handles_of_other_requests) {
  auto owned = std::make_shared<RequestContext>();
  RequestContext const parent;
  parent.link_child(*owned);
  auto const id = owned->on_stop([held = RequestContext()](auto const&) { held.stop(); });
  EXPECT_TRUE(owned->forget(id));
  owned->on_stop([held = std::make_shared<RequestContext>()](auto const&) {});
  owned->end();
  owned.reset();
  EXPECT_TRUE(parent.stop());
}

}  // namespace
}  // namespace lastcall
