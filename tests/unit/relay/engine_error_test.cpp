#include "relay/engine_error.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::relay {
namespace {

EngineError error_of(std::string const& object) {
  return error_of_event("data: " + object + "\n\n");
}

TEST(EngineError, The_status_of_an_error_is_its_code_or_follows_from_whom_it_blames) {
  auto const status_of = [](std::string const& object) {
    return status_of_error("data: " + object + "\n\n");
  };
  EXPECT_EQ(status_of(R"({"error":{"message":"died","code":503}})"), 503);
  EXPECT_EQ(status_of(R"({"error":{"message":"died","code":"502"}})"), 502);
  EXPECT_EQ(status_of(R"({"error":{"message":"died"}})"), 500);
  EXPECT_EQ(status_of(R"({"error":"died"})"), 500);
  EXPECT_EQ(status_of(R"({"type":"error","message":"died"})"), 500);
  EXPECT_EQ(status_of(R"({"type":"error","code":404,"message":"no"})"), 404);
  EXPECT_EQ(status_of(R"({"error":{"code":"context_length_exceeded"}})"), 400);
  EXPECT_EQ(status_of(R"({"error":{"code":7}})"), 400);
  EXPECT_EQ(status_of(R"({"error":null})"), 0);
  EXPECT_EQ(status_of(R"({"choices":[]})"), 0);
}

TEST(EngineError, An_error_without_a_code_or_with_one_of_a_server_may_be_the_engines_end) {
  for (std::string const object : {
           R"({"error":{"message":"died","type":"InternalServerError","param":null,"code":500}})",
           R"({"error":{"message":"died","code":503}})",
           R"({"error":{"message":"died","code":"502"}})",
           R"({"error":{"message":"died","code":null}})",
           R"({"error":{"message":"died"}})",
           R"({"error":"died"})",
           R"({"type":"error","error":{"type":"api_error","message":"died"}})",
           R"({"type":"error","message":"died"})",
       }) {
    EXPECT_EQ(error_of(object), EngineError::suspect) << object;
  }
}

TEST(EngineError, An_error_that_blames_the_request_or_has_a_retry_hint_is_complete) {
  for (std::string const object : {
           R"({"error":{"message":"too long","type":"BadRequestError","code":400}})",
           R"({"error":{"message":"too long","code":"404"}})",
           R"({"error":{"message":"too long","code":"context_length_exceeded"}})",
           R"({"error":{"type":"invalid_request_error","code":null}})",
           R"({"error":{"type":"BadRequestError"}})",
           R"({"error":{"type":"migrated","code":503,"retryable":true}})",
       }) {
    EXPECT_EQ(error_of(object), EngineError::complete) << object;
  }
}

TEST(EngineError, A_body_without_an_error_is_none) {
  for (std::string const object :
       {R"({"error":null})", R"({"error":false})", R"({"id":"x"})", R"({"error":)", "[DONE]", "",
        R"({"type":"message"})", R"([{"error":{}}])"}) {
    EXPECT_EQ(error_of(object), EngineError::none) << object;
  }
}

TEST(EngineError, An_event_of_several_lines_is_read_as_one) {
  EXPECT_EQ(error_of_event("event: error\r\ndata: {\"error\":\r\nid: 7\r\ndata: {\"code\":500}}\r\n"
                           "\r\n"),
            EngineError::suspect);
  EXPECT_EQ(error_of_event("event: error\n\n"), EngineError::none);
}

TEST(EngineError, The_middleware_reads_an_event_alike) {
  std::ifstream in(LASTCALL_SOURCE_DIR "/tests/contract/engine_errors.jsonl");
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    auto const each = nlohmann::json::parse(line);
    std::string const word = each.at("is");
    EngineError const expected = word == "suspect"    ? EngineError::suspect
                                 : word == "complete" ? EngineError::complete
                                                      : EngineError::none;
    EXPECT_EQ(error_of_event(each.at("event").get<std::string>()), expected) << line;
  }
  EXPECT_GT(cases, 20);
}

EngineError of_answer(unsigned status, char const* field = nullptr) {
  ResponseHead head;
  head.status = status;
  if (field != nullptr) {
    head.fields.add({field, "1"});
  }
  return error_of_answer(head);
}

TEST(EngineError, An_answer_of_a_server_that_failed_may_be_the_engines_end) {
  EXPECT_EQ(of_answer(500), EngineError::suspect);
  EXPECT_EQ(of_answer(502), EngineError::suspect);
  EXPECT_EQ(of_answer(503), EngineError::suspect);
}

TEST(EngineError, A_refusal_and_what_a_server_cannot_do_are_complete) {
  EXPECT_EQ(of_answer(503, "Retry-After"), EngineError::complete);
  EXPECT_EQ(of_answer(503, "x-lastcall-reason"), EngineError::complete);
  EXPECT_EQ(of_answer(501), EngineError::complete);
  EXPECT_EQ(of_answer(505), EngineError::complete);
  EXPECT_EQ(of_answer(429), EngineError::none);
  EXPECT_EQ(of_answer(200), EngineError::none);
}

}  // namespace
}  // namespace lastcall::relay
