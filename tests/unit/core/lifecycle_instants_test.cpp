// Where an event comes at the instant at which time is up, the event comes first; scenarios, whose
// timers come first, cannot express that.
#include <gtest/gtest.h>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

TEST(LifecycleInstants, A_waiter_that_ends_as_a_held_stop_begins_leaves_the_queue_once) {
  Settings settings;
  settings.admission.running = 1;
  settings.admission.waiting = 1;
  Lifecycle core(settings);
  Instant const start = instant_from_ms(1'000'000);
  core.step(start, SupervisorStarted{});
  core.step(start, PeerConnected{.peer = 1, .name = "worker"});
  core.step(start, RequestBegun{.peer = 1, .id = "runs", .admit = true});
  core.step(start, RequestBegun{.peer = 1, .id = "waits", .admit = true});
  core.step(start, OwnSignal{"TERM"});
  ASSERT_EQ(core.admission().waiting(), 1U);
  ASSERT_FALSE(core.snapshot().stop) << "held until an earlier life is ruled out";

  core.step(*core.next_deadline(),
            RequestEnded{.peer = 1, .id = "waits", .outcome = Outcome::cancelled});
  EXPECT_TRUE(core.snapshot().stop);
  EXPECT_EQ(core.admission().waiting(), 0U);
  EXPECT_EQ(core.requests().in_flight(), 1U);
}

}  // namespace
}  // namespace lastcall::lifecycle
