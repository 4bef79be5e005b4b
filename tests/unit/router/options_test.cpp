#include "router/options.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

TEST(RouterOptions, Buffers_get_two_thirds_of_the_memory_and_at_most_1_gib) {
  Limits limits;
  EXPECT_EQ(buffer_memory(limits, std::nullopt), kGiB);
  EXPECT_EQ(buffer_memory(limits, 64 * kGiB), kGiB);
  EXPECT_EQ(buffer_memory(limits, kGiB * 3 / 2), kGiB);
  EXPECT_EQ(buffer_memory(limits, kGiB * 3 / 8), kGiB / 4);
  limits.max_buffer_memory = 3 * kGiB;
  EXPECT_EQ(buffer_memory(limits, kGiB), 3 * kGiB);
}

}  // namespace
}  // namespace lastcall::router
