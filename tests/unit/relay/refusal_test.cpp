#include "relay/refusal.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::relay {
namespace {

TEST(Refusal, Is_a_whole_response_with_the_object_that_the_sdk_sends_too) {
  std::string out;
  append_refusal(out, cut_by(lifecycle::CancelReason::grace_timeout), {"r\"1", 3, 99}, true, false);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_NE(out.find("\r\nX-Lastcall-Reason: grace_timeout\r\nRetry-After: 1\r\n"
                     "retry-after-ms: 1000\r\nx-should-retry: true\r\n"),
            std::string::npos);
  EXPECT_NE(out.find("\r\nConnection: close\r\n\r\n"), std::string::npos);
  auto const body = nlohmann::json::parse(out.substr(out.find("\r\n\r\n") + 4));
  EXPECT_EQ(body, (nlohmann::json{{"error",
                                   {{"type", "migrated"},
                                    {"code", 503},
                                    {"message",
                                     "this replica is shutting down; send the request again to "
                                     "continue elsewhere"},
                                    {"request_id", "r\"1"},
                                    {"events_sent", 3},
                                    {"bytes_sent", 99},
                                    {"retryable", true},
                                    {"reason", "grace_timeout"}}}}));
  EXPECT_NE(out.find("\r\nContent-Length: " +
                     std::to_string(out.size() - out.find("\r\n\r\n") - 4) + "\r\n"),
            std::string::npos);
}

TEST(Refusal, Lack_of_a_place_is_refused_with_how_many_there_are) {
  using lifecycle::RejectedReason;
  Refusal refusal =
      rejected_because(RejectedReason::overloaded, std::chrono::milliseconds(1'500), 529);
  refusal.limit = 3;
  refusal.count = 4;
  std::string out;
  append_refusal(out, refusal, {"r1", 0, 0}, false, false);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 529 Site Overloaded\r\n"));
  EXPECT_NE(out.find("\r\nX-Lastcall-Reason: overloaded\r\nX-Lastcall-Limit: 3\r\n"
                     "X-Lastcall-Count: 4\r\nRetry-After: 2\r\nretry-after-ms: 1500\r\n"
                     "x-should-retry: true\r\n"),
            std::string::npos);
  auto const error = nlohmann::json::parse(out.substr(out.find("\r\n\r\n") + 4))["error"];
  EXPECT_EQ(error["reason"], "overloaded");
  EXPECT_EQ(error["limit"], 3);
  EXPECT_EQ(error["count"], 4);
  EXPECT_EQ(rejected_because(RejectedReason::draining, {}, 529).status, 503U);
}

TEST(Refusal, Only_what_may_be_sent_again_is_marked_so) {
  using lifecycle::CancelReason;
  using lifecycle::RejectedReason;
  EXPECT_TRUE(cut_by(CancelReason::migrate).retryable);
  EXPECT_TRUE(cut_by(CancelReason::engine_dead).retryable);
  EXPECT_FALSE(cut_by(CancelReason::operator_).retryable);
  EXPECT_EQ(cut_by(CancelReason::operator_).status, 499U);
  EXPECT_EQ(rejected_because(RejectedReason::draining, {}).type, "draining");
  EXPECT_EQ(rejected_because(RejectedReason::queue_timeout, {}).type, "overloaded");
  EXPECT_FALSE(engine_failed().retryable);
  EXPECT_TRUE(engine_unavailable().retryable);
}

TEST(Refusal, Clients_that_would_send_again_are_asked_not_to) {
  std::string out;
  append_refusal(out, engine_failed(), {"r1", 0, 0}, false, false);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
  EXPECT_NE(out.find("\r\nx-should-retry: false\r\n"), std::string::npos);
  EXPECT_EQ(out.find("retry-after"), std::string::npos);
  EXPECT_EQ(out.find("Retry-After"), std::string::npos);
}

TEST(Refusal, An_unresponsive_engine_is_503_whatever_the_status_of_an_overload_is) {
  Refusal const refusal = engine_silent(std::chrono::milliseconds(1'200));
  EXPECT_EQ(refusal.status, 503U);
  EXPECT_EQ(refusal.type, "overloaded");
  EXPECT_EQ(refusal.reason, "unresponsive");
  EXPECT_TRUE(refusal.retryable);
}

TEST(Refusal, The_last_event_of_a_cut_stream_is_named_error) {
  std::string out;
  append_error_event(out, cut_by(lifecycle::CancelReason::engine_dead), {"r1", 2, 10});
  EXPECT_TRUE(out.starts_with("event: error\ndata: {\"error\":{\"type\":\"engine_dead\""));
  EXPECT_TRUE(out.ends_with("}}\n\n"));
}

}  // namespace
}  // namespace lastcall::relay
