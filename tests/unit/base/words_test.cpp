#include "base/words.hpp"

#include <map>

#include <gmock/gmock.h>

namespace lastcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, Parts_are_taken_up_to_the_end_and_may_be_empty) {
  std::string_view rest = "a..b";
  EXPECT_EQ(take_part(rest, '.'), "a");
  EXPECT_EQ(take_part(rest, '.'), "");
  EXPECT_EQ(take_part(rest, '.'), "b");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(take_part(rest, '.'), "");
}

TEST(Words, A_text_is_split_at_any_separator_without_empty_parts) {
  EXPECT_THAT(split("/tmp//a/", "/"), ElementsAre("tmp", "a"));
  EXPECT_THAT(split("a\t b", " \t"), ElementsAre("a", "b"));
  EXPECT_THAT(split("", "/"), IsEmpty());
  EXPECT_THAT(split("//", "/"), IsEmpty());
}

TEST(Words, Parts_of_any_kind_are_joined) {
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(joined(std::vector<std::string_view>{}, ", "), "");
  std::map<std::string, int> const numbers{{"a", 1}, {"b", 2}};
  EXPECT_EQ(joined(numbers, " ", [](auto const& one) { return std::to_string(one.second); }),
            "1 2");
}

}  // namespace
}  // namespace lastcall
