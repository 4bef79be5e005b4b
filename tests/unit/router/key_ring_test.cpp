// The ring's order beside the same order computed from its definition, and how evenly it spreads.
#include "router/key_ring.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "router/affinity.hpp"

namespace lastcall::router {
namespace {

std::vector<KeyRing::Member> members(std::size_t count) {
  std::vector<KeyRing::Member> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back({i, stable_hash("http://10.0.0." + std::to_string(i) + ":8000")});
  }
  return made;
}

/// The shortest way clockwise from a point of the key to one of the member's.
std::uint64_t distance(std::uint64_t key, KeyRing::Member const& member) {
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t probe = 0; probe < KeyRing::kProbes; ++probe) {
    for (std::size_t point = 0; point < KeyRing::kPoints; ++point) {
      shortest = std::min(shortest,
                          KeyRing::point_of(member.place, point) - KeyRing::probe_of(key, probe));
    }
  }
  return shortest;
}

/// All members in the order in which first() offers them.
std::vector<std::size_t> order(KeyRing const& ring, std::uint64_t key) {
  std::vector<std::size_t> offered;
  ring.first(key, [&](std::size_t number) {
    if (std::find(offered.begin(), offered.end(), number) == offered.end()) {
      offered.push_back(number);
    }
    return false;
  });
  return offered;
}

TEST(KeyRing, Offers_all_its_members_the_nearest_first) {
  for (std::size_t const count : {1U, 2U, 3U, 17U, 60U}) {
    std::vector<KeyRing::Member> all = members(count);
    KeyRing const ring(all);
    for (std::uint64_t key = 0; key < 10; ++key) {
      std::sort(all.begin(), all.end(), [&](auto const& one, auto const& other) {
        return distance(key, one) < distance(key, other);
      });
      std::vector<std::size_t> expected;
      for (KeyRing::Member const& member : all) {
        expected.push_back(member.number);
      }
      EXPECT_EQ(order(ring, key), expected) << count << " members, key " << key;
    }
  }
}

TEST(KeyRing, An_empty_one_offers_nothing) {
  EXPECT_EQ(KeyRing({}).first(7, [](std::size_t) { return true; }), std::nullopt);
}

TEST(KeyRing, A_member_that_leaves_changes_the_order_of_no_others) {
  std::vector<KeyRing::Member> all = members(30);
  KeyRing const before(all);
  all.erase(all.begin() + 11);
  KeyRing const after(all);
  for (std::uint64_t key = 0; key < 100; ++key) {
    std::vector<std::size_t> left = order(before, key);
    std::erase(left, 11U);
    ASSERT_EQ(order(after, key), left);
  }
}

TEST(KeyRing, Each_member_is_the_first_of_about_as_many_keys) {
  constexpr std::uint64_t kKeys = 400;  // for each
  for (std::size_t const count : {3U, 20U, 300U}) {
    KeyRing const ring(members(count));
    std::vector<double> keys(count);
    for (std::uint64_t key = 0; key < kKeys * count; ++key) {
      ++keys[*ring.first(stable_hash(std::to_string(key)), [](std::size_t) { return true; })];
    }
    double squares = 0;
    for (double const each : keys) {
      squares += std::pow(each / kKeys - 1, 2);
      EXPECT_GT(each, 0.6 * kKeys);
      EXPECT_LT(each, 1.4 * kKeys);
    }
    // A twentieth of the ring, and a twentieth of the keys' own chance.
    EXPECT_LT(std::sqrt(squares / static_cast<double>(count)), 0.1) << count << " members";
  }
}

}  // namespace
}  // namespace lastcall::router
