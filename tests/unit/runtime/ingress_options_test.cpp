#include "supervisor/runtime/ingress/ingress_options.hpp"

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

using namespace std::chrono_literals;
using Length = std::optional<config::Duration>;

/// How long the engine keeps a request that its client has left.
Length left_with(Length first_byte, Length total) {
  config::Config config;
  config.ingress.timeouts.first_byte = first_byte;
  config.ingress.timeouts.total = total;
  return ingress_options(config).waits[static_cast<std::size_t>(ingress::Wait::left)];
}

TEST(IngressOptions, Abandoned_work_of_a_client_is_always_bounded) {
  EXPECT_EQ(left_with({}, {}), Length(5min));
  EXPECT_EQ(left_with(2s, {}), Length(2s));
  EXPECT_EQ(left_with(2s, 9s), Length(2s));
  EXPECT_EQ(left_with({}, 9s), Length());  // by the total, which runs on
}

TEST(IngressOptions, The_budget_of_buffers_is_the_configured_one_and_never_none) {
  constexpr std::size_t kGiB = std::size_t{1} << 30U;
  config::Config config;
  EXPECT_GT(ingress_options(config).max_buffer_memory, 0U);
  EXPECT_LE(ingress_options(config).max_buffer_memory, kGiB);
  config.ingress.max_buffer_memory = 3 * kGiB;
  EXPECT_EQ(ingress_options(config).max_buffer_memory, 3 * kGiB);
}

TEST(IngressOptions, By_default_nobody_changes_the_engine_and_everybody_may_look) {
  config::Config config;
  config.engine.kind = config::EngineKind::sglang;
  relay::ControlPaths const paths(ingress_options(config).control.paths);
  EXPECT_EQ(paths.decide("/flush_cache").access, relay::Access::operators);
  EXPECT_EQ(paths.decide("/metrics").access, relay::Access::relay);
  EXPECT_EQ(ingress_options(config).control.token, "");
}

TEST(IngressOptions, A_path_that_puts_an_engine_to_rest_does_so_unless_named_as_work) {
  config::Config config;
  config.engine.kind = config::EngineKind::sglang;
  config.endpoints = {{.name = "/pause_generation"}};
  config.ingress.control_paths.paths = {
      {"/release_memory_occupation", config::ControlAccess::relay}};
  relay::ControlPaths const paths(ingress_options(config).control.paths);
  EXPECT_EQ(paths.decide("/release_memory_occupation").rest, relay::Rest::begins);
  EXPECT_EQ(paths.decide("/resume_memory_occupation").rest, relay::Rest::ends);
  EXPECT_EQ(paths.decide("/pause_generation").rest, relay::Rest::none);
  EXPECT_EQ(paths.decide("/flush_cache").rest, relay::Rest::none);
}

TEST(IngressOptions, Own_paths_go_before_endpoints_and_those_before_the_presets) {
  config::Config config;
  config.endpoints = {{.name = "/flush_cache"}, {.name = "/pause"}, {.name = "chat_completions"}};
  config.ingress.control_paths.paths = {{"/pause", config::ControlAccess::refuse}};
  relay::ControlPaths const paths(ingress_options(config).control.paths);
  EXPECT_EQ(paths.decide("/flush_cache").access, relay::Access::relay);
  EXPECT_EQ(paths.decide("/pause").access, relay::Access::refuse);
}

}  // namespace
}  // namespace lastcall::runtime
