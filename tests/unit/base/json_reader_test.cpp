#include "base/json_reader.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"

namespace lastcall::json {
namespace {

TEST(JsonReader, Agrees_with_a_general_parser_about_what_is_json) {
  for (std::string const text : {
           "{}",
           "[]",
           "null",
           "true",
           "false",
           "0",
           "-0",
           "1e5",
           "1.5E-7",
           "\"\"",
           "[1,2]",
           "{\"a\":{}}",
           " [ 1 , 2 ] ",
           "01",
           "1.",
           ".5",
           "+1",
           "-",
           "1e",
           "nul",
           "truefalse",
           "[1,]",
           "{,}",
           "{\"a\":}",
           "{\"a\" 1}",
           "{a:1}",
           "{\"a\":1,}",
           "[1 2]",
           "[",
           "{",
           "\"",
           "\"\\x\"",
           "\"\\u12\"",
           "\"\\ud800\"",
           "\"\\udc00\"",
           "\"\\ud83c\\udf7a\"",
           "\"\\ud83cx\"",
           "\"\t\"",
           "\"\x7f\"",
           "'a'",
           "\"\xC0\x80\"",
           "\"\xED\xA0\x80\"",
           "\"\xF4\x90\x80\x80\"",
           "\"\xE2\x82\"",
           "\"\x80\"",
           "\"\xE2\x82\xAC\"",
           "\"\xF0\x9F\x8D\xBA\"",
           "\"\xF5\x80\x80\x80\"",
           "NaN",
           "1 2",
           "\xEF\xBB\xBF{}",
       }) {
    bool const expected = nlohmann::json::accept(text) && !text.starts_with("\xEF");
    EXPECT_EQ(is_value(text), expected) << text;
  }
}

TEST(JsonReader, Lists_members_in_order_with_duplicates) {
  std::vector<Member> members;
  ASSERT_FALSE(read_object(R"({"a":1,"b":[{"a":2}],"a":"x\n"})", members));
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[1].value.text, R"([{"a":2}])");
  EXPECT_EQ(members[2].key, "a");
  EXPECT_TRUE(members[2].value.escaped);
  EXPECT_EQ(to_string(members[2].value), "x\n");
}

TEST(JsonReader, Names_the_byte_where_the_text_stops_to_be_json) {
  std::vector<Member> members;
  auto const problem = read_object(R"({"op" 1})", members);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->at, 6U);
  EXPECT_STREQ(problem->expected, "':' after a key");
}

TEST(JsonReader, Refuses_more_levels_than_it_allows_without_using_the_stack_up) {
  std::string const deep = std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']');
  EXPECT_TRUE(is_value(deep));
  EXPECT_FALSE(is_value("[" + deep + "]"));
  EXPECT_FALSE(is_value(std::string(1'000'000, '[')));
}

TEST(JsonReader, Resolves_every_escape) {
  Value const text{Kind::string, true, R"(\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83c\udf7a)"};
  EXPECT_EQ(to_string(text), "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8D\xBA");
}

TEST(JsonReader, Whole_numbers_are_exact_up_to_64_bits_and_no_further) {
  auto const number = [](char const* text) { return to_unsigned({Kind::number, false, text}); };
  EXPECT_EQ(number("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(number("18446744073709551616"), std::nullopt);
  EXPECT_EQ(number("-1"), std::nullopt);
  EXPECT_EQ(number("1.0"), std::nullopt);
  EXPECT_EQ(number("1e3"), std::nullopt);
  EXPECT_EQ(to_double({Kind::number, false, "0.85"}), 0.85);
  EXPECT_EQ(to_double({Kind::number, false, "1e999"}), std::nullopt);
}

TEST(Utf8, A_prefix_never_splits_a_character) {
  EXPECT_EQ(utf8::prefix("a\xE2\x82\xAC", 3), "a");
  EXPECT_EQ(utf8::prefix("a\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
  EXPECT_EQ(utf8::prefix("abc", 2), "ab");
}

}  // namespace
}  // namespace lastcall::json
