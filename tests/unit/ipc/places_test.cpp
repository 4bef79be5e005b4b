#include "ipc/places.hpp"

#include <gtest/gtest.h>

namespace lastcall::ipc {
namespace {

constexpr PeerId kFirstExtra = 100;

bool all(PeerId) {
  return true;
}

ServerOptions few() {
  ServerOptions options;
  options.max_connections = 1;
  options.max_admin_connections = 1;
  options.max_of_process = 200;
  options.max_admin_of_process = 2;
  return options;
}

TEST(Places, An_engine_beyond_the_limit_gets_an_extra_place_and_an_operator_none) {
  ServerOptions const options = few();
  Places places(options);
  EXPECT_FALSE(places.take(1, false, 7));
  EXPECT_EQ(places.why_none(false, 7), "");
  EXPECT_TRUE(places.take(2, false, 7));
  EXPECT_EQ(places.why_none(true, 7), "");
  EXPECT_FALSE(places.take(3, true, 7));
  EXPECT_EQ(places.why_none(true, 8), "too many connections");
  places.give_back(true, 7, false);
  EXPECT_EQ(places.why_none(true, 8), "");
}

TEST(Places, An_extra_place_that_is_given_back_frees_no_other) {
  ServerOptions const options = few();
  Places places(options);
  EXPECT_FALSE(places.take(1, false, 7));
  EXPECT_TRUE(places.take(2, false, 7));
  places.give_back(false, 7, true);
  EXPECT_TRUE(places.take(3, false, 7));
  places.give_back(false, 7, false);
  EXPECT_FALSE(places.take(4, false, 7));
}

TEST(Places, A_process_has_its_share_unless_it_is_not_known) {
  ServerOptions options = few();
  options.max_connections = 9;
  options.max_of_process = 2;
  Places places(options);
  for (PeerId peer = 1; peer <= 4; ++peer) {
    places.take(peer, false, peer % 2 == 0 ? 7 : 0);
  }
  EXPECT_EQ(places.why_none(false, 7), "too many connections of this process");
  EXPECT_EQ(places.why_none(false, 0), "");
  EXPECT_EQ(places.why_none(true, 7), "");
  places.give_back(false, 7, false);
  EXPECT_EQ(places.why_none(false, 7), "");
}

TEST(Places, The_oldest_that_still_needs_its_extra_place_leaves) {
  ServerOptions const options = few();
  Places places(options);
  places.take(1, false, 7);
  for (PeerId peer = kFirstExtra; peer < kFirstExtra + 64; ++peer) {
    EXPECT_TRUE(places.take(peer, false, 7));
    EXPECT_EQ(places.surplus(all), std::nullopt);
  }
  places.take(kFirstExtra + 64, false, 7);
  EXPECT_EQ(places.surplus([](PeerId peer) { return peer != kFirstExtra; }), std::nullopt);
  places.take(kFirstExtra + 65, false, 7);
  EXPECT_EQ(places.surplus(all), kFirstExtra + 1);
  EXPECT_EQ(places.surplus(all), std::nullopt);
}

}  // namespace
}  // namespace lastcall::ipc
