#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

TEST(JsonReader, Looks_at_each_byte_wherever_it_is_in_a_string) {
  for (std::size_t const size : {1U, 14U, 15U, 16U, 17U, 33U}) {  // it reads blocks of 16
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        text = '"' + text + '"';
        std::vector<char> const alone(text.begin(), text.end());  // nothing may be read behind it
        EXPECT_EQ(is_value({alone.data(), alone.size()}), nlohmann::json::accept(text))
            << "byte " << byte << " at " << at << " of " << size;
      }
    }
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

TEST(JsonReader, Lists_what_is_whole_before_an_error) {
  for (std::string_view const text :
       {R"({"a":1,"b":[2,})", R"({"a":1,"b":"\x"})", R"({"a":1,"b" 1})", R"({"a":1,"b)"}) {
    std::vector<Member> members;
    EXPECT_TRUE(read_object(text, members)) << text;
    ASSERT_EQ(members.size(), 1U) << text;
    EXPECT_EQ(members[0].key, "a");
  }
}

TEST(JsonReader, A_view_of_a_string_is_in_its_text_unless_it_has_to_be_resolved) {
  std::string room;
  std::string_view const text = R"({"a":"as it is","b":"\u00e9\n"})";
  std::vector<Member> members;
  ASSERT_FALSE(read_object(text, members));
  EXPECT_EQ(unescaped(members[0].value, room).data(), members[0].value.text.data());
  EXPECT_EQ(unescaped(members[0].value, room), "as it is");
  EXPECT_EQ(unescaped(members[1].value, room), "\xC3\xA9\n");
}

/// `choices`, its first element and the `delta` of that, in one pass.
struct Nested {
  std::vector<Member> top, choice, delta;
  std::size_t elements{};
  Kind kind{};
  bool failed{};
};

Nested in_one_pass(std::string_view text) {
  Nested found;
  std::array delta{Inner{"delta", Inner::Place::value, &found.delta}};
  std::array inner{Inner{"choices", Inner::Place::first_element, &found.choice, delta}};
  found.failed = read_object(text, found.top, inner).has_value();
  found.elements = inner[0].elements;
  found.kind = inner[0].kind;
  return found;
}

Value const* last(std::vector<Member> const& members, std::string_view key) {
  auto const found = std::find_if(members.rbegin(), members.rend(),
                                  [key](Member const& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &found->value;
}

/// The same, each level read by itself.
Nested level_by_level(std::string_view text) {
  Nested found;
  found.failed = read_object(text, found.top).has_value();
  Value const* const choices = last(found.top, "choices");
  std::vector<Value> list;
  if (choices == nullptr || choices->kind != Kind::array || read_array(choices->text, list) ||
      list.empty()) {
    return found;
  }
  found.elements = list.size();
  found.kind = list.front().kind;
  if (found.kind == Kind::object) {
    EXPECT_FALSE(read_object(list.front().text, found.choice));
    Value const* const delta = last(found.choice, "delta");
    if (delta != nullptr && delta->kind == Kind::object) {
      EXPECT_FALSE(read_object(delta->text, found.delta));
    }
  }
  return found;
}

std::string shown(std::vector<Member> const& members) {
  std::string out;
  for (Member const& member : members) {
    out.append(member.key).append(member.key_escaped ? "\\=" : "=");
    out.append(describe(member.value.kind)).append(" ").append(member.value.text).append(";");
  }
  return out;
}

TEST(JsonReader, Lists_what_is_further_in_as_if_each_level_were_read_by_itself) {
  for (std::string const text :
       {R"({})", R"({"choices":[]})", R"({"choices":null})", R"({"choices":{"delta":{"a":1}}})",
        R"({"choices":[{"delta":{"content":"a","b":[1,{"delta":{}}]},"index":0}],"usage":{}})",
        R"({"choices":[7,{"delta":{"a":1}}]})", R"({"choices":[[{"delta":{"a":1}}]]})",
        R"({"choices":[{"delta":{"a":1}},{"delta":{"b":1}},{}]})",
        R"({"choices":[{"delta":{"a":1},"delta":null}]})",
        R"({"choices":[{"delta":{"a":1},"delta":{"b":"\u00e9"}}]})",
        R"({"choices":[{"delta":{"a":1}}],"choices":[{"index":1}]})",
        R"({"choices":[{"delta":{"a":1}}],"choices":"none"})",
        R"({"delta":{"a":1},"choices":[{"choices":[{"delta":{"b":1}}]}]})",
        R"({"ch\u006fices":[{"delta":{"a":1}}]})",
        R"( { "choices" : [ { "delta" : { "a" : 1 } , "x" : [ ] } , 1 ] , "y" : "z" } )",
        R"({"choices":[{"delta":{"a":1}},]})", R"({"choices":[{"delta":{"a":1]}}]})",
        R"({"choices":[{"delta":{"a":"b}}]})"}) {
    Nested const one = in_one_pass(text);
    Nested const each = level_by_level(text);
    EXPECT_EQ(one.failed, each.failed) << text;
    if (!each.failed) {
      EXPECT_EQ(shown(one.top), shown(each.top)) << text;
      EXPECT_EQ(shown(one.choice), shown(each.choice)) << text;
      EXPECT_EQ(shown(one.delta), shown(each.delta)) << text;
      EXPECT_EQ(one.elements, each.elements) << text;
      EXPECT_EQ(one.kind, each.kind) << text;
    }
  }
}

TEST(JsonReader, Allows_as_many_levels_further_in_as_everywhere) {
  for (int levels : {kMaxDepth - 4, kMaxDepth - 3, kMaxDepth - 2}) {
    auto const nested = std::string(static_cast<std::size_t>(levels), '[') +
                        std::string(static_cast<std::size_t>(levels), ']');
    std::string const text = R"({"choices":[{"delta":{"a":)" + nested + "}}]}";
    EXPECT_EQ(in_one_pass(text).failed, level_by_level(text).failed) << levels;
    EXPECT_EQ(in_one_pass(text).failed, levels > kMaxDepth - 4) << levels;
  }
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

TEST(JsonReader, A_list_may_have_a_limit) {
  std::vector<Member> members;
  EXPECT_FALSE(read_object(R"({"a":1,"b":{"c":1,"d":2,"e":3}})", members, {}, 2));
  members.clear();
  EXPECT_TRUE(read_object(R"({"a":1,"b":2,"c":3})", members, {}, 2));
  std::vector<Value> elements;
  EXPECT_FALSE(read_array("[1,[2,3,4]]", elements, 2));
  elements.clear();
  EXPECT_TRUE(read_array("[1,2,3]", elements, 2));
}

}  // namespace
}  // namespace lastcall::json
