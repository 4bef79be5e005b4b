#include "probes/listener/probe_routes.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;

ProbeState serving() {
  ProbeState state;
  state.phase = "serving";
  state.ready = true;
  state.ready_reason.clear();
  state.socket = SocketState::bound;
  state.engine_started = true;
  state.engine_verdict = "healthy";
  return state;
}

class Routes : public ::testing::Test {
 protected:
  void publish(ProbeState state) { published_.publish(std::move(state)); }
  Reply ask(std::string path, std::string method = "GET", bool verbose = false) {
    Request request{.method = std::move(method), .path = std::move(path)};
    if (verbose) {
      request.query.emplace_back("verbose", "");
    }
    return routes_.answer(request);
  }
  /// Waits until the loop counts as stuck: there are no heartbeats in these tests.
  void let_the_loop_stall() {
    while (published_.since_beat() < kStallAfter) {
      std::this_thread::yield();
    }
  }

  static constexpr Duration kStallAfter{200};
  PublishedState published_;
  ProbeRoutes routes_{published_, [] { return std::string("# metrics\n"); }, 1h};
  ProbeRoutes impatient_{published_, [] { return std::string(); }, kStallAfter};
};

TEST_F(Routes, Livez_passes_from_the_first_moment) {
  EXPECT_EQ(ask("/livez").status, 200);
  EXPECT_EQ(ask("/livez").body, "ok\n");
}

TEST_F(Routes, Startupz_waits_for_the_ipc_socket) {
  EXPECT_EQ(ask("/startupz").status, 503);
  EXPECT_EQ(ask("/startupz").body,
            "[+]loop ok\n[-]ipc-socket failed: not bound yet\nstartupz check failed\n");
  publish(serving());
  EXPECT_EQ(ask("/startupz").status, 200);
}

TEST_F(Routes, Livez_fails_when_the_ipc_socket_was_lost) {
  auto state = serving();
  state.socket = SocketState::lost;
  state.socket_detail = "the file was removed";
  publish(state);
  EXPECT_EQ(ask("/livez").status, 503);
  EXPECT_NE(ask("/livez").body.find("the file was removed"), std::string::npos);
}

TEST_F(Routes, A_stalled_loop_fails_livez_readyz_health_and_live_but_no_engine_probe) {
  publish(serving());
  let_the_loop_stall();
  for (auto const* const path : {"/livez", "/startupz", "/readyz", "/health", "/live"}) {
    auto const reply = impatient_.answer({.method = "GET", .path = path});
    EXPECT_EQ(reply.status, 503) << path;
    EXPECT_NE(reply.body.find("has not moved"), std::string::npos) << path;
  }
  EXPECT_EQ(impatient_.answer({.method = "GET", .path = "/engine/livez"}).status, 200);
  published_.beat();
  EXPECT_EQ(impatient_.answer({.method = "GET", .path = "/livez"}).status, 200);
}

TEST_F(Routes, The_stall_limit_is_well_above_the_health_interval) {
  EXPECT_EQ(stall_limit(2s), 10s);
  EXPECT_EQ(stall_limit(60s), 180s);
}

TEST_F(Routes, Readyz_reports_why_requests_should_not_come) {
  EXPECT_EQ(ask("/readyz").status, 503);
  auto state = serving();
  state.ready = false;
  state.ready_reason = "draining";
  publish(state);
  EXPECT_EQ(ask("/readyz").status, 503);
  EXPECT_NE(ask("/readyz").body.find("[-]ready failed: draining"), std::string::npos);
  publish(serving());
  EXPECT_EQ(ask("/readyz").body, "ok\n");
}

TEST_F(Routes, A_dead_engine_fails_its_own_liveness_and_not_the_supervisors) {
  auto state = serving();
  state.engine_alive = false;
  state.engine_verdict = "dead";
  state.engine_reason = "connection refused by 127.0.0.1:8000";
  publish(state);
  EXPECT_EQ(ask("/engine/livez").status, 503);
  EXPECT_NE(ask("/engine/livez").body.find("dead: connection refused"), std::string::npos);
  EXPECT_EQ(ask("/livez").status, 200);
  EXPECT_EQ(ask("/live").status, 200);
}

TEST_F(Routes, A_loading_engine_is_alive_but_not_started) {
  EXPECT_EQ(ask("/engine/livez").status, 200);
  EXPECT_EQ(ask("/engine/startupz").status, 503);
  publish(serving());
  EXPECT_EQ(ask("/engine/startupz").status, 200);
}

TEST_F(Routes, Verbose_lists_each_check_as_kubernetes_does) {
  EXPECT_EQ(ask("/livez", "GET", true).body,
            "[+]loop ok\n[+]ipc-socket ok: not bound yet\nlivez check passed\n");
  auto state = serving();
  state.checks = {{.name = "engine", .passed = true, .latency = 3ms},
                  {.name = "kv", .passed = false, .detail = "status 500"}};
  state.registries = {{.name = "etcd", .state = "registered", .settled = true}};
  publish(state);
  EXPECT_EQ(ask("/readyz", "GET", true).body,
            "[+]loop ok\n"
            "[+]ready ok\n"
            "[+]check-engine ok\n"
            "[-]check-kv failed: status 500\n"
            "[+]registry-etcd ok: registered\n"
            "[+]phase ok: serving\n"
            "readyz check passed\n");
}

TEST_F(Routes, Health_has_dynamos_shape) {
  auto state = serving();
  state.endpoints = {{.name = "generate", .ready = true}, {.name = "flush", .ready = false}};
  publish(state);
  auto const reply = ask("/health");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/json");
  auto const body = nlohmann::json::parse(reply.body);
  EXPECT_EQ(body.at("status"), "ready");
  EXPECT_TRUE(body.at("uptime").at("secs").is_number_integer());
  EXPECT_LT(body.at("uptime").at("nanos"), 1'000'000'000);
  EXPECT_EQ(body.at("endpoints"), (nlohmann::json{{"generate", "ready"}, {"flush", "notready"}}));
}

TEST_F(Routes, Health_is_notready_with_the_reason_while_requests_should_not_come) {
  auto const reply = ask("/health");
  EXPECT_EQ(reply.status, 503);
  auto const body = nlohmann::json::parse(reply.body);
  EXPECT_EQ(body.at("status"), "notready");
  EXPECT_EQ(body.at("endpoints"), nlohmann::json::object());
  EXPECT_EQ(body.at("message"), "the supervisor is starting");
}

TEST_F(Routes, Live_stays_200_while_not_ready) {
  auto const reply = ask("/live");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(nlohmann::json::parse(reply.body).at("status"), "live");
}

TEST_F(Routes, Names_from_outside_cannot_break_the_json) {
  auto state = serving();
  state.endpoints = {{.name = "a\"b\xff\n", .ready = true}};
  publish(state);
  EXPECT_NO_THROW(nlohmann::json::parse(ask("/health").body).at("endpoints"));
}

TEST_F(Routes, Metrics_come_as_prometheus_text) {
  auto const reply = ask("/metrics");
  EXPECT_EQ(reply.body, "# metrics\n");
  EXPECT_EQ(reply.content_type, "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(Routes, Unknown_paths_are_404_and_name_the_known_ones) {
  for (auto const* const path : {"/", "/livez/", "/LIVEZ", "/metricsx"}) {
    auto const reply = ask(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_NE(reply.body.find("/engine/startupz"), std::string::npos);
  }
}

TEST_F(Routes, The_status_page_is_named_only_where_it_is_served) {
  EXPECT_EQ(ask("/x").body.find("/status"), std::string::npos);
  routes_.offer_status_page();
  EXPECT_TRUE(ask("/x").body.ends_with(" /metrics/engine / /status\n"));
}

TEST_F(Routes, Methods_other_than_get_and_head_are_405) {
  EXPECT_EQ(ask("/livez", "HEAD").status, 200);
  for (auto const* const method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    auto const reply = ask("/livez", method);
    EXPECT_EQ(reply.status, 405) << method;
    ASSERT_EQ(reply.headers.size(), 1U);
    EXPECT_EQ(reply.headers[0].second, "GET, HEAD");
  }
}

}  // namespace
}  // namespace lastcall::probes::test
