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

TEST(Places, AnEngineBeyondTheLimitGetsAnExtraPlaceAndAnOperatorNone) {
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

TEST(Places, AnExtraPlaceThatIsGivenBackFreesNoOther) {
  ServerOptions const options = few();
  Places places(options);
  EXPECT_FALSE(places.take(1, false, 7));
  EXPECT_TRUE(places.take(2, false, 7));
  places.give_back(false, 7, true);
  EXPECT_TRUE(places.take(3, false, 7));
  places.give_back(false, 7, false);
  EXPECT_FALSE(places.take(4, false, 7));
}

TEST(Places, AProcessHasItsShareUnlessItIsNotKnown) {
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

TEST(Places, TheOldestThatStillNeedsItsExtraPlaceLeaves) {
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
