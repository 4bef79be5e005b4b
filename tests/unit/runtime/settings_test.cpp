#include "supervisor/runtime/settings.hpp"

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Settings, Every_choice_of_the_configuration_reaches_the_core) {
  config::Config config;
  config.engine.stop_signal = "SIGINT";
  config.engine.on_exit = config::OnExit::propagate;
  config.shutdown.budgets.grace_period = 33s;
  config.shutdown.migrate = config::Migrate::at_start;
  config.shutdown.second_signal = config::SecondSignal::force;
  config.shutdown.after_stop = config::AfterStop::rearm;
  config.lifecycle.enabled = true;
  config.cleanup.paths = {"/tmp/x-*"};
  config.discovery.resize(2);
  config.ipc.reconnect_window = 7s;
  config.ipc.max_requests_per_peer = 7;
  config.ipc.max_requests = 8;
  config.health.stalled_after = 9s;
  lifecycle::Settings const settings = settings_from(config, {20s, ""});
  EXPECT_EQ(settings.stop_signal, "INT");
  EXPECT_EQ(settings.on_exit, lifecycle::OnExit::propagate);
  EXPECT_EQ(settings.shutdown.grace_period, 33s);
  EXPECT_EQ(settings.pod_grace, 20s);
  EXPECT_EQ(settings.migrate, lifecycle::MigratePolicy::at_start);
  EXPECT_EQ(settings.second_signal, lifecycle::SecondSignal::force);
  EXPECT_EQ(settings.after_stop, lifecycle::AfterStop::rearm);
  EXPECT_TRUE(settings.lifecycle_hooks);
  EXPECT_TRUE(settings.cleanup_paths);
  EXPECT_FALSE(settings.cleanup_hooks);
  EXPECT_EQ(settings.registries, 3U);  // two of the list, and that of SDKs
  EXPECT_EQ(settings.reconnect_window, 7s);
  EXPECT_EQ(settings.peer_requests, 7U);
  EXPECT_EQ(settings.peers_requests, 8U);
  EXPECT_EQ(settings.health.stalled_after, 9s);
}

TEST(Settings, The_gauges_of_an_engine_reach_the_core_with_what_they_can_prove) {
  config::Config config;
  EXPECT_FALSE(settings_from(config, {}).gauge_refresh);
  EXPECT_FALSE(settings_from(config, {}).token.barrier);
  config.engine.kind = config::EngineKind::vllm;
  EXPECT_EQ(settings_from(config, {}).gauge_refresh, 1s);
  EXPECT_TRUE(settings_from(config, {}).health.tokens_show_stalls);
  EXPECT_TRUE(settings_from(config, {}).token.barrier);
  EXPECT_TRUE(settings_from(config, {}).token.canary);
  EXPECT_FALSE(settings_from(config, {}).load_counts);
  config.engine.metrics.load_tracking = true;
  EXPECT_TRUE(settings_from(config, {}).load_counts);
  config.engine.probe.canary = false;
  EXPECT_FALSE(settings_from(config, {}).token.canary);
  config.engine.kind = config::EngineKind::sglang;
  EXPECT_EQ(settings_from(config, {}).gauge_refresh, 1s);
  EXPECT_FALSE(settings_from(config, {}).health.tokens_show_stalls);
}

TEST(Settings, Checks_have_their_places_and_each_its_threshold) {
  config::Config config;
  config.health.failure_threshold = 4;
  config.health.checks = std::vector<config::HealthCheck>{
      {.name = "http", .kind = config::HttpCheck{"http://127.0.0.1:1/"}},
      {.name = "bytes", .kind = config::ProgressCheck{}},
      {.name = "sdk", .kind = config::IpcCheck{}, .failure_threshold = 1}};
  auto const checks = settings_from(config, {}).health.checks;
  ASSERT_EQ(checks.size(), 3U);
  EXPECT_EQ(checks[0].name, "http");
  EXPECT_EQ(checks[0].failure_threshold, 4U);
  EXPECT_EQ(checks[2].name, "sdk");
  EXPECT_EQ(checks[2].failure_threshold, 1U);
}

}  // namespace
}  // namespace lastcall::runtime
