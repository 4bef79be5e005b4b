// How much engine peers may keep in the core: live requests of all of them, and endpoints.
#include <string>

#include <gtest/gtest.h>

#include "core/endpoint_tracker.hpp"
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

class RequestCrowd : public ::testing::Test {
 protected:
  RequestCrowd() {
    core_.step(now_, PeerConnected{.peer = 1, .name = "a"});
    core_.step(now_, PeerConnected{.peer = 2, .name = "b"});
  }
  /// The reason why it is refused; empty: it is not.
  std::string refusal_of(Event const& event) {
    for (Action const& action : core_.step(now_, event)) {
      if (auto const* refuse = std::get_if<Refuse>(&action)) {
        EXPECT_EQ(refuse->code, Refusal::busy);
        return refuse->message;
      }
    }
    return "";
  }
  std::string begin(PeerId peer, std::string id) {
    return refusal_of(RequestBegun{.peer = peer, .id = std::move(id)});
  }

  static Settings settings() {
    Settings made;
    made.peer_requests = 2;
    made.peers_requests = 3;
    return made;
  }

  Instant now_{};
  Lifecycle core_{settings()};
};

TEST_F(RequestCrowd, All_peers_together_have_a_limit_and_what_is_relayed_does_not_count) {
  for (char const* const id : {"r", "s", "t", "u"}) {
    EXPECT_EQ(begin(kIngressPeer, id), "");
  }
  EXPECT_EQ(begin(1, "a"), "");
  EXPECT_EQ(begin(1, "b"), "");
  EXPECT_EQ(begin(2, "c"), "");
  EXPECT_EQ(begin(2, "d"), "all connections together have 3 live requests, which is their limit");
  EXPECT_EQ(begin(1, "d"), "this connection has 2 live requests, which is its limit");
  core_.step(now_, RequestEnded{.peer = 1, .id = "a", .outcome = Outcome::completed});
  EXPECT_EQ(begin(2, "d"), "");
}

TEST_F(RequestCrowd, Endpoints_that_are_registered_have_a_limit) {
  auto const register_ = [&](PeerId peer, std::string name) {
    return refusal_of(EndpointRegistered{.peer = peer, .endpoint = std::move(name)});
  };
  for (std::size_t i = 0; i < kMostRegistered; ++i) {
    EXPECT_EQ(register_(1, std::to_string(i)), "");
  }
  EXPECT_EQ(register_(2, "0"), "there are 1024 registered endpoints, which is the limit");
  EXPECT_EQ(register_(1, "0"), "");
  core_.step(now_, EndpointUnregistered{.peer = 1, .endpoint = "0"});
  EXPECT_EQ(register_(2, "0"), "");
  EXPECT_NE(register_(1, "0"), "");
  core_.step(now_, PeerGone{.peer = 1});
  EXPECT_EQ(register_(2, "1"), "");
}

}  // namespace
}  // namespace lastcall::lifecycle
