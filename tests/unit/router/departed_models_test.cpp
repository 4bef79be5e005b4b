#include "router/departed_models.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

TEST(DepartedModels, Are_remembered_for_a_while) {
  Fleet fleet({}, [] { return std::uint64_t{0}; });
  DepartedModels departed;
  departed.note(fleet, fleet.set(0, {{"http://a:1", "m"}, {"http://b:1", "m"}}), Time{0});
  EXPECT_FALSE(departed.holds("m", Time{0}));
  departed.note(fleet, fleet.set(0, {{"http://b:1", "m"}}), Time{1});
  EXPECT_FALSE(departed.holds("m", Time{1}));  // one is left
  departed.note(fleet, fleet.set(0, {}), Time{2});
  EXPECT_TRUE(departed.holds("m", Time{2}));
  EXPECT_TRUE(departed.holds("m", Time{2} + DepartedModels::kRemembered));
  EXPECT_FALSE(departed.holds("m", Time{3} + DepartedModels::kRemembered));
  EXPECT_FALSE(departed.holds("n", Time{2}));
}

}  // namespace
}  // namespace lastcall::router
