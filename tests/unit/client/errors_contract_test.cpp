// The cases of tests/contract/error_events.jsonl, whose format its README describes.
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <lastcall/errors.hpp>
#include <nlohmann/json.hpp>

namespace lastcall {
namespace {

using nlohmann::json;

std::vector<json> error_cases() {
  std::ifstream in(LASTCALL_SOURCE_DIR "/tests/contract/error_events.jsonl");
  std::vector<json> all;
  for (std::string line; std::getline(in, line);) {
    all.push_back(json::parse(line));
  }
  return all;
}

ErrorKind kind_called(std::string const& word) {
  for (ErrorKind const kind : {ErrorKind::migrated, ErrorKind::engine_dead, ErrorKind::draining,
                               ErrorKind::overloaded, ErrorKind::cancelled}) {
    if (name(kind) == word) {
      return kind;
    }
  }
  ADD_FAILURE() << "no kind is called " << word;
  return {};
}

TEST(ErrorObject, Is_the_one_of_every_sdk_as_a_body_and_as_an_event) {
  auto const all = error_cases();
  EXPECT_EQ(all.size(), 7U);
  for (json const& each : all) {
    ErrorKind const kind = kind_called(each.at("kind"));
    ErrorDetails const details{each.at("request_id"), each.at("events_sent"), each.at("bytes_sent"),
                               each.value("status", 503), each.value("reason", "")};
    json const expected{{"error", each.at("error")}};
    EXPECT_EQ(json::parse(error_body(kind, details)), expected);
    std::string const event = sse_error(kind, details);
    std::string const head = "event: error\ndata: ";
    ASSERT_TRUE(event.starts_with(head) && event.ends_with("\n\n")) << event;
    std::string const data = event.substr(head.size(), event.size() - head.size() - 2);
    EXPECT_EQ(data.find('\n'), std::string::npos) << data;
    EXPECT_EQ(json::parse(data), expected);
  }
}

TEST(ErrorObject, Its_kind_follows_from_the_cause_or_the_refusal) {
  EXPECT_EQ(kind_of(Reason::migrate), ErrorKind::migrated);
  EXPECT_EQ(kind_of(Reason::grace_timeout), ErrorKind::migrated);
  EXPECT_EQ(kind_of(Reason::engine_dead), ErrorKind::engine_dead);
  for (Reason const reason : {Reason::client_disconnect, Reason::control, Reason::connection_lost,
                              Reason::parent, Reason::operator_}) {
    EXPECT_EQ(kind_of(reason), ErrorKind::cancelled);
  }
  EXPECT_EQ(kind_of(Refusal::draining), ErrorKind::draining);
  EXPECT_EQ(kind_of(Refusal::overloaded), ErrorKind::overloaded);
  EXPECT_EQ(kind_of(Refusal::queue_timeout), ErrorKind::overloaded);
}

}  // namespace
}  // namespace lastcall
