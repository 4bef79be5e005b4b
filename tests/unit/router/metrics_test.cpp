#include "router/metrics.hpp"

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "core/vocabulary.hpp"
#include "relay/refusal.hpp"
#include "router/errors.hpp"
#include "router/no_worker.hpp"
#include "router/rejected.hpp"
#include "router/request_risk.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

/// The value of the series that begins so; empty if there is none.
std::string value_of(Metrics const& metrics, std::string const& series) {
  std::string const text = "\n" + metrics.text();
  std::size_t const at = text.find("\n" + series + " ");
  if (at == std::string::npos) {
    return {};
  }
  std::size_t const begin = at + series.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(RouterMetrics, Requests_of_a_model_are_counted_in_its_own_series) {
  Metrics metrics;
  for (int i = 0; i < 3; ++i) {
    metrics.began("llama");
  }
  metrics.began("");
  metrics.taken("llama");
  EXPECT_EQ(value_of(metrics, R"(dynamo_frontend_inflight_requests{model="llama"})"), "3");
  EXPECT_EQ(value_of(metrics, R"(dynamo_frontend_queued_requests{model="llama"})"), "2");
  EXPECT_EQ(value_of(metrics, R"(dynamo_frontend_inflight_requests{model="unknown"})"), "1");
}

TEST(RouterMetrics, An_events_gap_is_observed_once) {
  Metrics metrics;
  metrics.first_byte("llama", 30ms);
  metrics.event_gap("llama", 2ms);
  metrics.event_gap("llama", 20ms);
  metrics.event_gap("qwen", 2ms);
  std::string const gaps = "dynamo_frontend_inter_token_latency_seconds";
  EXPECT_EQ(value_of(metrics, gaps + R"(_count{model="llama"})"), "2");
  EXPECT_EQ(value_of(metrics, gaps + R"(_bucket{model="llama",le="0.0025"})"), "1");
  EXPECT_EQ(value_of(metrics, gaps + R"(_bucket{model="llama",le="0.025"})"), "2");
  EXPECT_EQ(value_of(metrics, gaps + R"(_count{model="qwen"})"), "1");
  std::string const first = "dynamo_frontend_time_to_first_token_seconds";
  EXPECT_EQ(value_of(metrics, first + R"(_count{model="llama"})"), "1");
  EXPECT_EQ(value_of(metrics, first + R"(_bucket{model="llama",le="0.05"})"), "1");
}

TEST(RouterMetrics, Each_kind_of_end_has_its_counter) {
  Metrics metrics;
  auto const end = [&metrics](bool is_stream, std::string_view error) {
    metrics.began("llama");
    metrics.finished({.model = "llama",
                      .endpoint = "chat_completions",
                      .is_stream = is_stream,
                      .error_type = error,
                      .took = 3s});
  };
  end(true, "");
  end(true, "");
  end(false, "");
  end(true, "overload");
  auto const count = [&metrics](std::string const& type, std::string const& status,
                                std::string const& error) {
    return value_of(metrics, R"(dynamo_frontend_requests_total{endpoint="chat_completions",)"
                             R"(error_type=")" +
                                 error + R"(",model="llama",request_type=")" + type +
                                 R"(",status=")" + status + R"("})");
  };
  EXPECT_EQ(count("stream", "success", ""), "2");
  EXPECT_EQ(count("unary", "success", ""), "1");
  EXPECT_EQ(count("stream", "error", "overload"), "1");
  EXPECT_EQ(value_of(metrics, R"(dynamo_frontend_inflight_requests{model="llama"})"), "0");
  EXPECT_EQ(value_of(metrics, R"(dynamo_frontend_request_duration_seconds_count{model="llama"})"),
            "4");
}

TEST(RouterMetrics, Types_of_errors_are_those_of_Dynamos_frontend) {
  for (auto const& [status, type] :
       std::initializer_list<std::pair<unsigned, std::string_view>>{{200, ""},
                                                                    {400, "validation"},
                                                                    {404, "not_found"},
                                                                    {422, "validation"},
                                                                    {429, "overload"},
                                                                    {500, "internal"},
                                                                    {501, "not_implemented"},
                                                                    {502, "internal"},
                                                                    {503, "overload"},
                                                                    {529, "overload"}}) {
    EXPECT_EQ(name(error_type_of(status)), type) << status;
  }
}

TEST(RouterMetrics, Requests_that_engines_lost_are_internal_whatever_their_status_is) {
  using lifecycle::CancelReason;
  using lifecycle::RejectedReason;
  auto const second = std::chrono::seconds(1);
  struct Row {
    relay::Refusal refusal;
    std::string_view type;
  };
  for (Row const& row : {
           Row{relay::cut_by(CancelReason::engine_dead), "internal"},
           Row{relay::cut_by(CancelReason::migrate), "internal"},
           Row{relay::cut_by(CancelReason::grace_timeout), "internal"},
           Row{relay::engine_failed(), "internal"},
           Row{relay::malformed_response(), "internal"},
           Row{relay::timed_out("late", true), "internal"},
           Row{poisonous(), "internal"},
           Row{no_worker(), "overload"},
           Row{last_worker_left(), "overload"},
           Row{relay::no_memory(), "overload"},
           Row{all_busy({}, 0), "overload"},
           Row{relay::rejected_because(RejectedReason::draining, second), "overload"},
           Row{relay::rejected_because(RejectedReason::overloaded, second, 529), "overload"},
           Row{relay::bad_request(413, "large"), "validation"},
       }) {
    EXPECT_EQ(name(error_type_of(row.refusal.status, row.refusal.type)), row.type)
        << row.refusal.type;
  }
  // The answers of workers have the reason in their head.
  for (auto const& [status, reason, type] :
       std::initializer_list<std::tuple<unsigned, std::string_view, std::string_view>>{
           {503, "engine_dead", "internal"},
           {503, "migrate", "internal"},
           {503, "grace_timeout", "internal"},
           {502, "engine_error", "internal"},
           {504, "timeout", "internal"},
           {503, "draining", "overload"},
           {529, "overloaded", "overload"},
           {503, "queue_timeout", "overload"},
           {503, "", "overload"},
           {200, "engine_dead", ""}}) {
    EXPECT_EQ(name(error_type_of(status, reason)), type) << status << reason;
  }
}

}  // namespace
}  // namespace lastcall::router
