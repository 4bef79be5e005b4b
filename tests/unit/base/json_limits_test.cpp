// What is let into a parser of JSON, and what is not.
#include "base/json_limits.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::json {
namespace {

std::string repeated(std::string const& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

TEST(JsonLimits, Depth_members_and_values_have_a_limit_each) {
  Limits const limits{.depth = 2, .members = 2, .values = 6};
  for (char const* const text :
       {R"({"a":[1,2,3],"b":4})", R"({"a":{},"b":[]})", "[[1],[2]]", "7"}) {
    EXPECT_TRUE(fits(text, limits)) << text;
  }
  EXPECT_FALSE(fits("[[[]]]", limits));
  EXPECT_FALSE(fits(R"({"a":1,"b":2,"c":3})", limits));
  EXPECT_FALSE(fits("[1,2,3,4,5,6]", limits));
}

TEST(JsonLimits, Structure_inside_a_string_counts_for_nothing) {
  Limits const limits{.depth = 1, .members = 1, .values = 2};
  EXPECT_TRUE(fits(R"({"[[{{,,":"\"[[,,\\"})", limits));
  EXPECT_FALSE(fits(R"({"a":"\\","b":1})", limits));
}

TEST(JsonLimits, Text_that_is_no_json_is_scanned_once_and_left_to_the_parser) {
  for (char const* const text : {"", "\"", "\"\\", "]]]", "}{", ",,,", "{\"a\":\"b\\"}) {
    EXPECT_TRUE(fits(text, {})) << text;
    EXPECT_TRUE(parsed<nlohmann::ordered_json>(text).is_discarded()) << text;
  }
}

TEST(JsonLimits, A_text_above_them_is_read_as_no_json) {
  std::string const deep = repeated("[", 200'000) + repeated("]", 200'000);
  std::string wide = "{\"k\":0";
  for (int i = 0; i < 200'000; ++i) {
    wide += ",\"" + std::to_string(i) + "\":0";
  }
  EXPECT_TRUE(parsed<nlohmann::ordered_json>(deep).is_discarded());
  EXPECT_TRUE(parsed<nlohmann::ordered_json>(wide + "}").is_discarded());
  EXPECT_EQ(parsed<nlohmann::ordered_json>(R"({"a":[1]})").dump(), R"({"a":[1]})");
}

}  // namespace
}  // namespace lastcall::json
