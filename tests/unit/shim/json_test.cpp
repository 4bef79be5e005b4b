#include "shim/json.hpp"

#include <string>

#include <gtest/gtest.h>

#include "shim/parse.hpp"

namespace lastcall::shim::json {
namespace {

TEST(ShimJson, Valid_objects_are_accepted) {
  for (char const* text :
       {"{}", " { } ", R"({"a":1})", R"({"a":-0.5e+10,"b":[1,[],{}],"c":"\u00e9\"","d":null})",
        "{\"a\" : true ,\t\"b\":\r\nfalse}", R"({"a":0,"a":1})"}) {
    EXPECT_TRUE(is_object(text)) << text;
  }
}

TEST(ShimJson, Everything_else_is_refused) {
  for (char const* text : {"",
                           " ",
                           "[]",
                           "1",
                           "\"a\"",
                           "{",
                           "}",
                           "{}x",
                           "{}{}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({a:1})",
                           R"({"a":1,})",
                           R"({"a":01})",
                           R"({"a":+1})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":1e})",
                           R"({"a":tru})",
                           R"({"a":"\x"})",
                           R"({"a":"\u12g4"})",
                           R"({"a":")",
                           "{\"a\":\"\t\"}",
                           R"({"a":[1,]})",
                           R"({"a":[1}})",
                           R"({"a":--1})",
                           R"({"a":NaN})"}) {
    EXPECT_FALSE(is_object(text)) << text;
  }
}

TEST(ShimJson, Depth_is_bounded) {
  auto const nested = [](int depth) {
    std::string text = "{\"a\":";
    text.append(static_cast<std::size_t>(depth), '[');
    text.append(static_cast<std::size_t>(depth), ']');
    return text + "}";
  };
  EXPECT_TRUE(is_object(nested(32)));
  EXPECT_FALSE(is_object(nested(33)));
  EXPECT_FALSE(is_object(nested(30'000)));
}

TEST(ShimJson, No_cut_of_a_valid_line_is_valid) {
  std::string const line = R"({"op":"exit","seq":7,"code":0,"report":"{\"a\":[1,2.5e3,null]}"})";
  ASSERT_TRUE(is_object(line));
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_FALSE(is_object(std::string_view(line).substr(0, length))) << length;
  }
}

TEST(ShimJson, Members_come_as_their_raw_bytes_and_the_last_of_a_key_counts) {
  std::string_view const object = R"({"a":1,"nested":{"b":2},"b": [ 3 ] ,"a":"x\u0041"})";
  EXPECT_EQ(member(object, "a"), R"("x\u0041")");
  EXPECT_EQ(member(object, "b"), "[ 3 ]");
  EXPECT_EQ(member(object, "c"), std::nullopt);
  EXPECT_EQ(member("{}", "a"), std::nullopt);
  EXPECT_EQ(member(R"({"\u0061":5})", "a"), "5") << "keys may be escaped";
}

TEST(ShimJson, Strings_are_decoded_with_every_escape) {
  TextOf<64> out;
  ASSERT_TRUE(decode_string(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u4e2d\ud83d\ude00")", out));
  EXPECT_EQ(out.view(), "\"\\/\b\f\n\r\tA\u00e9\u4e2d\U0001f600");
}

TEST(ShimJson, String_that_does_not_fit_is_refused) {
  TextOf<3> out;
  EXPECT_TRUE(decode_string(R"("abc")", out));
  TextOf<3> shorter;
  EXPECT_FALSE(decode_string(R"("abcd")", shorter));
  EXPECT_FALSE(decode_string("7", shorter));
}

TEST(ShimJson, Integers_are_whole_and_not_negative) {
  EXPECT_EQ(parse_unsigned("0"), 0);
  EXPECT_EQ(parse_unsigned("9007199254740992"), std::int64_t{1} << 53);
  for (char const* text : {"9007199254740993", "-1", "1.0", "1e3", "\"1\"", "null", ""}) {
    EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
  }
}

TEST(ShimJson, Text_that_is_no_UTF_8_is_no_object) {
  EXPECT_TRUE(is_object("{\"a\":\"caf\xC3\xA9 \xF0\x9F\x98\x80\"}"));
  for (std::string_view const bytes :
       {"\x82", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_object("{\"" + std::string(bytes) + "\":1}"));
    EXPECT_FALSE(is_object("{\"a\":\"" + std::string(bytes) + "\"}"));
  }
}

TEST(ShimJson, Half_of_a_surrogate_pair_is_no_object) {
  for (char const* const text : {R"({"a":"\ud83d\ude00"})", R"({"a":"\uD83D\uDE00"})",
                                 R"({"a":"\ud7ff"})", R"({"a":"\ue000"})"}) {
    EXPECT_TRUE(is_object(text)) << text;
  }
  for (char const* const text :
       {R"({"a":"\ud83d"})", R"({"a":"\ud83d^ude00"})", R"({"a":"\ude00"})",
        R"({"a":"\ud83d\u0041"})", R"({"a":"\ud83d\ud83d"})"}) {
    EXPECT_FALSE(is_object(text)) << text;
  }
}

TEST(ShimJson, Written_lines_are_valid_and_read_back) {
  TextOf<256> out;
  Writer(out)
      .open()
      .string("a", "q\"\\\n\x7f\xff")
      .number("b", -5)
      .boolean("c", true)
      .open("d")
      .close()
      .raw("e", "[1]")
      .close();
  EXPECT_EQ(out.view(), R"({"a":"q\"\\\u000a\u007f\u00ff","b":-5,"c":true,"d":{},"e":[1]})");
  EXPECT_TRUE(is_object(out.view()));
}

}  // namespace
}  // namespace lastcall::shim::json
