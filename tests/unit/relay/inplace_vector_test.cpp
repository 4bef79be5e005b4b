#include "relay/inplace_vector.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

using Three = InplaceVector<std::string_view, 3>;

TEST(InplaceVector, It_has_what_was_put_in_and_takes_no_more_than_it_has_room_for) {
  Three words;
  EXPECT_TRUE(words.empty());
  EXPECT_EQ(words.begin(), words.end());
  for (std::string_view const word : {"a", "b", "c"}) {
    EXPECT_TRUE(words.push_back(word));
  }
  EXPECT_FALSE(words.push_back("d"));
  EXPECT_TRUE(std::ranges::equal(words, std::array<std::string_view, 3>{"a", "b", "c"}));
}

TEST(InplaceVector, Cleared_it_is_as_new) {
  Three words;
  words.push_back("a");
  words.push_back("b");
  words.clear();
  EXPECT_TRUE(words.empty());
  words.push_back("c");
  EXPECT_TRUE(std::ranges::equal(words, std::array<std::string_view, 1>{"c"}));
}

TEST(InplaceVector, A_copy_has_the_same_values) {
  Three words;
  words.push_back("a");
  Three const copy = words;
  words.clear();
  EXPECT_TRUE(std::ranges::equal(copy, std::array<std::string_view, 1>{"a"}));
}

}  // namespace
}  // namespace lastcall::relay
