#include "base/same_secret.hpp"

#include <gtest/gtest.h>

namespace lastcall {
namespace {

TEST(SameSecret, A_secret_is_compared_as_a_whole) {
  EXPECT_TRUE(same_secret("hush", "hush"));
  for (std::string_view const other : {"", "h", "husH", "hushh", "xush"}) {
    EXPECT_FALSE(same_secret(other, "hush")) << other;
  }
}

}  // namespace
}  // namespace lastcall
