#include "base/compact_array.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lastcall {
namespace {

TEST(CompactText, Keeps_its_bytes_where_they_are_when_it_is_moved) {
  std::string const bytes("a\0b", 3);
  CompactText text(bytes);
  char const* const place = text.view().data();
  CompactText const moved = std::move(text);
  EXPECT_EQ(moved.view(), bytes);
  EXPECT_EQ(moved.view().data(), place);
  EXPECT_EQ(moved.capacity(), bytes.size() + 4);
}

TEST(CompactText, An_empty_one_has_no_block) {
  EXPECT_TRUE(CompactText("").empty());
  EXPECT_EQ(CompactText().view(), "");
  EXPECT_EQ(CompactText().capacity(), 0U);
}

TEST(CompactArray, Holds_numbers) {
  std::array<std::uint32_t, 3> const numbers{1, 2, UINT32_MAX};
  CompactArray<std::uint32_t> const kept(numbers);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_TRUE(std::equal(kept.all().begin(), kept.all().end(), numbers.begin()));
  EXPECT_EQ(kept.capacity(), 16U);
  EXPECT_EQ(CompactArray<std::uint32_t>().size(), 0U);
}

}  // namespace
}  // namespace lastcall
