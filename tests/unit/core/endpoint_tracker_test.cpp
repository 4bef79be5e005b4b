#include "core/endpoint_tracker.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

constexpr PeerId kPeer = 1;

TEST(EndpointTracker, Counts_endpoints_not_requests) {
  EndpointTracker tracker;
  tracker.register_endpoint(kPeer, "a", true);
  tracker.register_endpoint(kPeer, "b", true);
  EXPECT_EQ(tracker.active_graceful(), 0U);
  auto const a = tracker.slot(kPeer, "a");
  auto const b = tracker.slot(kPeer, "b");
  tracker.enter(a);
  tracker.enter(a);
  EXPECT_EQ(tracker.active_graceful(), 1U);
  tracker.enter(b);
  EXPECT_EQ(tracker.active_graceful(), 2U);
  tracker.leave(a);
  EXPECT_EQ(tracker.active_graceful(), 2U);
  tracker.leave(a);
  tracker.leave(b);
  EXPECT_EQ(tracker.active_graceful(), 0U);
}

TEST(EndpointTracker, Takes_an_endpoint_that_nobody_registered_as_graceful) {
  EndpointTracker tracker;
  tracker.enter(tracker.slot(kPeer, ""));
  EXPECT_EQ(tracker.active_graceful(), 1U);
  EXPECT_EQ(tracker.ungraceful_in_flight(), 0U);
}

TEST(EndpointTracker, Tells_apart_withdrawn_and_never_registered_endpoints) {
  EndpointTracker tracker;
  auto const withdrawn = [&tracker](std::string_view name) {
    return tracker.at(tracker.slot(kPeer, name)).withdrawn;
  };
  tracker.enter(tracker.slot(kPeer, "never"));
  tracker.register_endpoint(kPeer, "left", true);
  tracker.enter(tracker.slot(kPeer, "left"));
  EXPECT_TRUE(tracker.unregister_endpoint(kPeer, "left"));
  EXPECT_FALSE(withdrawn("never"));
  EXPECT_TRUE(withdrawn("left"));
  tracker.register_endpoint(kPeer, "left", true);
  EXPECT_FALSE(withdrawn("left"));
}

TEST(EndpointTracker, Moves_what_is_in_flight_when_the_flag_changes) {
  EndpointTracker tracker;
  auto const slot = tracker.slot(kPeer, "a");
  tracker.enter(slot);
  tracker.enter(slot);
  tracker.register_endpoint(kPeer, "a", false);
  EXPECT_EQ(tracker.active_graceful(), 0U);
  EXPECT_EQ(tracker.ungraceful_in_flight(), 2U);
  tracker.register_endpoint(kPeer, "a", true);
  EXPECT_EQ(tracker.active_graceful(), 1U);
  EXPECT_EQ(tracker.ungraceful_in_flight(), 0U);
}

TEST(EndpointTracker, Keeps_peers_apart) {
  EndpointTracker tracker;
  tracker.register_endpoint(1, "a", false);
  EXPECT_NE(tracker.slot(1, "a"), tracker.slot(2, "a"));
  EXPECT_TRUE(tracker.at(tracker.slot(2, "a")).graceful);
}

TEST(EndpointTracker, Unregisters_only_what_was_registered) {
  EndpointTracker tracker;
  EXPECT_FALSE(tracker.unregister_endpoint(kPeer, "a"));
  tracker.register_endpoint(kPeer, "a", true);
  EXPECT_FALSE(tracker.unregister_endpoint(2, "a"));
  EXPECT_TRUE(tracker.unregister_endpoint(kPeer, "a"));
  EXPECT_FALSE(tracker.unregister_endpoint(kPeer, "a"));
}

TEST(EndpointTracker, Releases_the_slots_of_a_peer_that_is_gone_with_their_last_request) {
  EndpointTracker tracker;
  tracker.register_endpoint(kPeer, "busy", true);
  tracker.register_endpoint(kPeer, "idle", true);
  auto const busy = tracker.slot(kPeer, "busy");
  tracker.enter(busy);
  tracker.peer_forgotten(kPeer);
  EXPECT_EQ(tracker.active_graceful(), 1U);
  tracker.leave(busy);
  EXPECT_EQ(tracker.active_graceful(), 0U);
  std::size_t live = 0;
  tracker.for_each([&](EndpointTracker::Endpoint const&) { ++live; });
  EXPECT_EQ(live, 0U);
  // Both slots serve again.
  EXPECT_LE(tracker.slot(2, "x"), 1U);
  EXPECT_LE(tracker.slot(2, "y"), 1U);
}

TEST(EndpointTracker, Bounds_names_that_a_peer_invents) {
  EndpointTracker tracker;
  EndpointSlot highest = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto const slot = tracker.slot(kPeer, "name" + std::to_string(i));
    highest = std::max(highest, slot);
    tracker.enter(slot);
    tracker.leave(slot);
  }
  EXPECT_LE(highest, kUndeclaredMax);
}

}  // namespace
}  // namespace lastcall::lifecycle
