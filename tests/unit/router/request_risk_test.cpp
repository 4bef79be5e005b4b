#include "router/request_risk.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "router/parts.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using continuation::Refused;

struct NoReports final : ingress::ConnectionObserver {
  void refused(relay::Refusal const& /*refusal*/) override {}
  void control_called(ingress::ControlCall const& /*call*/) override {}
  void greeting_failed(ingress::GreetingFailed const& /*failed*/) override {}
  void evicted(ingress::Scarce /*what*/) override {}
  void shed(ingress::Scarce /*what*/) override {}
  void slow_turn(std::string_view /*kind*/, std::chrono::steady_clock::duration /*took*/) override {
  }
  void connections(std::size_t /*clients*/, std::size_t /*upstream*/) override {}
};

struct NoRequests final : ingress::RequestMaker {
  std::unique_ptr<ingress::ClientRequest> make(ingress::RequestClient const& /*client*/,
                                               relay::TakenHead const& /*taken*/,
                                               bool /*is_closed*/, bool /*is_control*/) override {
    return nullptr;
  }
};

/// A request whose target is all that distinguishes it: its body is empty.
struct Request {
  explicit Request(Parts& parts, std::string_view target = "/v1/embeddings")
      : call{.parts = parts,
             .head = LegHead("id"),
             .body = RequestBody({.kind = relay::Framing::Kind::none})} {
    call.wanted.model = "m";
    call.head.set("POST " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n", "");
    is_taken = risk.begin(0ms);
    risk.sent(0ms);
  }
  Refused dies_at(Worker const& worker, bool has_begun = false) {
    return risk.died(worker, has_begun ? Begun::yes : Begun::no, 0ms);
  }

  Call call;
  RequestRisk risk{call};
  bool is_taken = false;
};

class RequestRiskTest : public testing::Test {
 protected:
  boost::asio::io_context io;
  NoReports reports;
  NoRequests requests;
  Settings settings;
  ingress::MemoryBudget memory{0};
  Metrics metrics;
  std::ostringstream logged;
  telemetry::Log log{telemetry::LogLevel::info, telemetry::LogFormat::json, logged};
  Parts parts{io, {}, reports, memory, requests, settings, metrics, log};
  Worker one{1, {"http://one", "m"}};
  Worker two{2, {"http://two", "m"}};
  Worker three{3, {"http://three", "m"}};
};

TEST_F(RequestRiskTest, A_request_that_was_moved_and_meets_a_second_death_is_given_to_nobody) {
  Request request(parts);
  EXPECT_EQ(request.dies_at(one), Refused::no);
  EXPECT_TRUE(request.risk.is_suspect());
  request.risk.sent(0ms);
  EXPECT_EQ(request.dies_at(two), Refused::engine_died_twice);
  EXPECT_FALSE(Request(parts).is_taken) << "its client may not know, and sends it again";
}

TEST_F(RequestRiskTest, A_request_that_is_sent_again_and_meets_the_second_death_is_poison) {
  Request first(parts);
  first.dies_at(one);
  Request again(parts);
  ASSERT_TRUE(again.is_taken);
  EXPECT_EQ(again.dies_at(two), Refused::poison);
}

TEST_F(RequestRiskTest, Twins_whose_engines_die_together_are_both_given_to_another_one) {
  Request first(parts);
  Request second(parts);
  EXPECT_EQ(first.dies_at(one), Refused::no);
  EXPECT_EQ(second.dies_at(two), Refused::no);
  EXPECT_TRUE(Request(parts).is_taken);
}

TEST_F(RequestRiskTest, An_engine_that_had_a_request_for_long_has_survived_it) {
  Request request(parts);
  request.risk.sent(10ms);
  EXPECT_FALSE(request.risk.is_survived(kSurvived + 9ms));
  EXPECT_TRUE(request.risk.is_survived(kSurvived + 10ms));
  EXPECT_FALSE(request.risk.has_lost_engine());
  request.risk.died(one, Begun::perhaps, 0ms);
  EXPECT_FALSE(request.risk.is_suspect());
  EXPECT_TRUE(request.risk.has_lost_engine());
}

TEST_F(RequestRiskTest,
       A_twin_whose_engine_had_it_for_long_is_refused_after_two_deaths_of_the_other) {
  Request first(parts);
  Request second(parts);
  EXPECT_EQ(first.risk.died(one, Begun::perhaps, 0ms), Refused::no);
  first.risk.sent(0ms);
  EXPECT_EQ(first.risk.died(two, Begun::perhaps, 0ms), Refused::engine_died_twice);
  EXPECT_EQ(second.risk.died(three, Begun::perhaps, 0ms), Refused::poison);
}

TEST_F(RequestRiskTest, A_twin_that_waits_is_refused_when_the_other_one_has_ended_a_second_engine) {
  Request first(parts);
  Request second(parts);
  first.dies_at(one);
  second.dies_at(two);
  EXPECT_FALSE(second.risk.is_poison(0ms));
  first.risk.sent(0ms);
  EXPECT_EQ(first.dies_at(three), Refused::engine_died_twice);
  EXPECT_TRUE(second.risk.is_poison(0ms));
}

TEST_F(RequestRiskTest, An_answer_that_has_begun_is_not_judged_by_another_request) {
  Request first(parts);
  first.dies_at(one);
  Request second(parts);
  EXPECT_EQ(second.dies_at(two, true), Refused::no);
  EXPECT_FALSE(second.risk.is_poison(0ms));
}

TEST_F(RequestRiskTest, The_same_body_at_another_target_is_another_request) {
  for (Worker const* worker : {&one, &two}) {
    Request(parts, "/v2/models/a/generate").dies_at(*worker);
  }
  EXPECT_FALSE(Request(parts, "/v2/models/a/generate").is_taken);
  Request other(parts, "/v2/models/b/generate");
  EXPECT_TRUE(other.is_taken);
  EXPECT_FALSE(other.risk.is_suspect());
}

TEST_F(RequestRiskTest, A_worker_that_sends_no_http_is_not_dead) {
  Request first(parts);
  EXPECT_EQ(first.risk.moved("malformed", one, false, 0ms), Refused::no);
  EXPECT_EQ(parts.risk.suspects.size(), 0U);
  EXPECT_EQ(parts.risk.deaths.last(), 0U);
  EXPECT_EQ(first.risk.moved("eof", one, false, 0ms), Refused::no);
  EXPECT_EQ(parts.risk.deaths.last(), 1U);
}

}  // namespace
}  // namespace lastcall::router
