// What an engine may answer, and what it is taken for.
#include "probes/checks/engine_answers.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::probes::test {
namespace {

constexpr char const* kGenerated =
    R"({"choices":[{"text":"t0","finish_reason":"length"}],"usage":{"completion_tokens":1}})";

TEST(TokenAnswer, Only_a_choice_that_ended_by_itself_with_a_token_proves) {
  EXPECT_EQ(why_no_token(kGenerated), "");
  EXPECT_EQ(why_no_token(R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]})"),
            "");
  for (char const* const answer :
       {"", "[]", R"({"choices":[]})", R"({"error":{"message":"no"}})",
        R"({"choices":[{"text":"a","finish_reason":"abort"}],"usage":{"completion_tokens":1}})",
        R"({"choices":[{"text":"a","finish_reason":null}]})",
        R"({"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":0}})",
        R"({"choices":[{"text":"","finish_reason":"stop"}]})"}) {
    EXPECT_NE(why_no_token(answer), "") << answer;
  }
}

TEST(EngineAnswers, The_first_model_is_believed_where_its_id_is_a_text) {
  ListedModel const first =
      first_model(R"({"data":[{"id":"a","owned_by":"vllm"},{"id":"b"}],"object":"list"})");
  EXPECT_EQ(first.id, "a");
  EXPECT_EQ(first.owner, "vllm");
  for (char const* const list : {"", "[]", "{}", R"({"data":[]})", R"({"data":{"id":"a"}})",
                                 R"({"data":["a"]})", R"({"data":[{"id":7}]})"}) {
    EXPECT_FALSE(first_model(list).id) << list;
  }
}

TEST(EngineAnswers, Rest_and_load_are_read_where_they_are_stated) {
  EXPECT_EQ(is_true(R"({"is_sleeping":true})", "is_sleeping"), true);
  EXPECT_EQ(is_true(R"({"is_sleeping":false})", "is_sleeping"), false);
  EXPECT_FALSE(is_true(R"({"is_sleeping":"true"})", "is_sleeping"));
  EXPECT_FALSE(is_true("[true]", "is_sleeping"));
  EXPECT_EQ(load_in(R"({"server_load":2})"), 2U);
  EXPECT_EQ(load_in(R"({"server_load":0.1})"), 1U) << "more than nothing";
  for (char const* const answer : {"", "3", R"({"server_load":-1})", R"({"server_load":"1"})"}) {
    EXPECT_FALSE(load_in(answer)) << answer;
  }
}

TEST(EngineAnswers, An_answer_deeper_or_wider_than_an_engines_proves_nothing) {
  std::string wide = R"({"server_load":1,"is_sleeping":true,"data":[{"id":"m"}])";
  for (int i = 0; i < 200; ++i) {
    wide += ",\"" + std::to_string(i) + "\":0";
  }
  std::string const deep = R"({"server_load":1,"is_sleeping":true,"data":[{"id":"m"}],"more":)" +
                           std::string(20, '[') + std::string(20, ']') + "}";
  for (std::string const& answer : {wide + "}", deep}) {
    EXPECT_FALSE(first_model(answer).id);
    EXPECT_FALSE(is_true(answer, "is_sleeping"));
    EXPECT_FALSE(load_in(answer));
  }
}

TEST(EngineAnswers, A_body_is_quoted_in_one_line) {
  EXPECT_EQ(quoted_body("no\r\n\x1b[31m way\x7f\n"), "no   [31m way");
  EXPECT_EQ(quoted_body(" \n"), "");
  EXPECT_EQ(quoted_body(std::string(10'000, 'a')).size(), 512U);
}

}  // namespace
}  // namespace lastcall::probes::test
