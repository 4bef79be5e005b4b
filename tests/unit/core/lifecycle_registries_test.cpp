// What the report says about registries; the traces of scenarios do not hold it.
#include <gtest/gtest.h>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

TEST(LifecycleRegistries, A_removal_that_is_confirmed_after_its_time_is_reported_as_confirmed) {
  using State = RegistryRecord::State;
  Settings settings;
  settings.registries = 2;
  Lifecycle core(settings);
  Instant const start = instant_from_ms(1'000'000);
  core.step(start, SupervisorStarted{});
  core.step(start, ShimHello{.boot = "b", .engine = EngineState::running});
  core.step(start, StopSignalHeld{.name = "TERM", .at = start});
  core.step(start, RegistrySettled{.registry = 0, .confirmed = false, .detail = "away"});
  core.step(start, RegistrySettled{.registry = 1, .confirmed = true});
  ASSERT_EQ(core.report(start).registries[0].state, State::failed);

  core.step(start, RegistrySettled{.registry = 0, .confirmed = true});
  RegistryRecord const late = core.report(start).registries[0];
  EXPECT_EQ(late.state, State::confirmed);
  EXPECT_EQ(late.detail, "away") << "why it came late";

  core.step(start, RegistrySettled{.registry = 1, .confirmed = false, .detail = "again"});
  EXPECT_EQ(core.report(start).registries[1].state, State::confirmed);
}

}  // namespace
}  // namespace lastcall::lifecycle
