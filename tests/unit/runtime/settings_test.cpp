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
  config.events.nats.url = "nats://127.0.0.1:4222";
  config.ingress.enabled = true;
  config.discovery.resize(2);
  config.ipc.reconnect_window = 7s;
  config.ipc.max_requests_per_peer = 7;
  config.ipc.max_requests = 8;
  config.health.stalled_after = 9s;
  config.health.unresponsive_after = 11s;
  config.health.startup_timeout = 13s;
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
  EXPECT_TRUE(settings.events);
  EXPECT_TRUE(settings.ingress_is_exclusive);
  EXPECT_EQ(settings.registries, 3U);  // two of the list, and that of SDKs
  EXPECT_EQ(settings.reconnect_window, 7s);
  EXPECT_EQ(settings.peer_requests, 7U);
  EXPECT_EQ(settings.peers_requests, 8U);
  EXPECT_EQ(settings.health.stalled_after, 9s);
  EXPECT_EQ(settings.health.unresponsive_after, 11s);
  EXPECT_EQ(settings.health.startup_timeout, 13s);
}

TEST(Settings, What_the_engines_kind_says_of_its_processes_reaches_the_core) {
  config::Config config;
  lifecycle::Settings const any = settings_from(config, {});
  EXPECT_TRUE(any.essential_processes.empty());
  config.engine.kind = config::EngineKind::vllm;
  config::EngineProfile const profile = config::resolve_engine(config);
  lifecycle::Settings const settings = settings_from(config, {});
  EXPECT_FALSE(settings.essential_processes.empty());
  EXPECT_EQ(settings.essential_processes, profile.essential_processes);
  EXPECT_EQ(settings.rest_grace, profile.rest_grace);
  EXPECT_EQ(settings.main_ends_workers, profile.main_ends_workers);
}

TEST(Settings, Every_limit_of_admission_reaches_the_core) {
  config::Config config;
  config.admission = {.engine_request_limit = 1,
                      .queue_limit = 2,
                      .queue_timeout = 3s,
                      .engine_wait_limit = 4,
                      .priorities = true,
                      .active_decode_blocks_threshold = 0.5,
                      .active_prefill_tokens_threshold = 6,
                      .load_max_age = 7s,
                      .ranks = 8};
  lifecycle::Settings const settings = settings_from(config, {});
  EXPECT_EQ(
      settings.admission,
      (lifecycle::AdmissionLimits{
          .running = 1, .waiting = 2, .wait_timeout = 3s, .first_byte = 4, .priorities = true}));
  EXPECT_EQ(settings.load.decode_ppm, 500'000U);
  EXPECT_EQ(settings.load.prefill_tokens, 6U);
  EXPECT_EQ(settings.load.max_age, 7s);
  EXPECT_EQ(settings.load.ranks, 8U);
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
