#include "base/ring.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace lastcall {
namespace {

struct Bead : RingLink {
  explicit Bead(int is) : number(is) {}
  int number;
};

std::vector<int> numbers_in(Ring<Bead> const& ring) {
  std::vector<int> all;
  ring.for_each([&](Bead const& bead) { all.push_back(bead.number); });
  return all;
}

TEST(Ring, Keeps_them_in_the_order_in_which_they_came) {
  Bead one(1), two(2);
  Ring<Bead> ring;
  EXPECT_TRUE(ring.empty());
  ring.push_back(one);
  {
    Bead brief(3);
    ring.push_back(brief);
    ring.push_back(two);
    EXPECT_EQ(numbers_in(ring), (std::vector{1, 3, 2}));
    EXPECT_EQ(ring.size(), 3U);
  }
  EXPECT_EQ(numbers_in(ring), (std::vector{1, 2}));
  EXPECT_EQ(&ring.front(), &one);
  one.leave_ring();
  one.leave_ring();
  EXPECT_EQ(numbers_in(ring), (std::vector{2}));
}

TEST(Ring, One_that_joins_another_leaves_the_first) {
  Bead bead(1);
  Ring<Bead> first, second;
  first.push_back(bead);
  second.push_back(bead);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.size(), 1U);
  bead.leave_ring();
  EXPECT_FALSE(bead.is_in_ring());
}

}  // namespace
}  // namespace lastcall
