#include "ingress/memory_budget.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace lastcall::ingress {
namespace {

TEST(MemoryBudget, Is_the_sum_of_what_its_holders_have) {
  MemoryBudget budget(1'000);
  auto first = std::make_unique<Charge>(budget);
  Charge second(budget);
  first->set(500);
  second.set(200);
  EXPECT_EQ(budget.used(), 700U);
  EXPECT_FALSE(budget.is_tight());
  second.set(250);
  EXPECT_TRUE(budget.is_tight());
  EXPECT_FALSE(budget.is_exceeded());
  second.set(501);
  EXPECT_TRUE(budget.is_exceeded());
  second.set(400);
  EXPECT_FALSE(budget.is_exceeded());
  EXPECT_FALSE(budget.is_relieved());
  first.reset();
  EXPECT_EQ(budget.used(), 400U);
  EXPECT_TRUE(budget.is_relieved());
  EXPECT_EQ(budget.peak(), 1'001U);
  budget.restart_peak();
  EXPECT_EQ(budget.peak(), 400U);
}

TEST(MemoryBudget, Without_a_limit_is_never_tight) {
  MemoryBudget budget(0);
  Charge charge(budget);
  charge.set(std::size_t{1} << 40U);
  EXPECT_FALSE(budget.is_tight());
  EXPECT_FALSE(budget.is_exceeded());
  EXPECT_TRUE(budget.is_relieved());
}

}  // namespace
}  // namespace lastcall::ingress
