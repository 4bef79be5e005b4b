#include "supervisor/runtime/listener/readiness.hpp"

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

using config::ReadinessOnStop;
using lifecycle::Phase;

bool ready(Phase phase, ReadinessOnStop on_stop, bool deletion_seen, bool registered = true) {
  lifecycle::Snapshot snapshot;
  snapshot.phase = phase;
  snapshot.deletion_seen = deletion_seen;
  Readiness const readiness = readiness_of(snapshot, on_stop, registered);
  EXPECT_NE(readiness.reason, "");
  return readiness.is_ready;
}

TEST(Readiness, Ready_is_serving_and_to_have_been_registered_everywhere) {
  EXPECT_TRUE(ready(Phase::serving, ReadinessOnStop::automatic, false));
  EXPECT_FALSE(ready(Phase::serving, ReadinessOnStop::automatic, false, false));
  EXPECT_FALSE(ready(Phase::starting, ReadinessOnStop::late, true));
}

TEST(Readiness, An_unresponsive_engine_turns_it_off_until_it_answers) {
  lifecycle::Snapshot snapshot;
  snapshot.phase = Phase::serving;
  snapshot.silent = true;
  snapshot.verdict = lifecycle::Verdict::unresponsive;
  snapshot.verdict_reason = "its process 'vllm' is stopped";
  Readiness const readiness = readiness_of(snapshot, ReadinessOnStop::late, true);
  EXPECT_FALSE(readiness.is_ready);
  EXPECT_EQ(readiness.reason, "unresponsive: its process 'vllm' is stopped");
  snapshot.silent = false;  // registered again or not: it was, once
  EXPECT_TRUE(readiness_of(snapshot, ReadinessOnStop::automatic, true).is_ready);
}

TEST(Readiness, While_deregistering_it_depends_on_the_setting_and_on_the_pods_deletion) {
  EXPECT_TRUE(ready(Phase::deregistering, ReadinessOnStop::automatic, true));
  EXPECT_FALSE(ready(Phase::deregistering, ReadinessOnStop::automatic, false));
  EXPECT_FALSE(ready(Phase::deregistering, ReadinessOnStop::immediate, true));
  EXPECT_TRUE(ready(Phase::deregistering, ReadinessOnStop::late, false));
}

TEST(Readiness, Our_own_restart_turns_it_off_as_a_drain_does_and_before_the_ingress_refuses) {
  using Stage = lifecycle::RestartStage;
  auto const at = [](Stage stage, ReadinessOnStop on_stop) {
    lifecycle::Snapshot snapshot;
    snapshot.phase = Phase::serving;
    snapshot.own_restart = stage;
    snapshot.deletion_seen = true;  // our own signal counts as evidence elsewhere
    return readiness_of(snapshot, on_stop, true).is_ready;
  };
  EXPECT_TRUE(at(Stage::announced, ReadinessOnStop::immediate));
  for (Stage const stage : {Stage::deregistering, Stage::accepting}) {
    EXPECT_FALSE(at(stage, ReadinessOnStop::automatic));
    EXPECT_TRUE(at(stage, ReadinessOnStop::late));
  }
  for (Stage const stage : {Stage::refusing, Stage::stopping, Stage::killing}) {
    EXPECT_FALSE(at(stage, ReadinessOnStop::late));
  }
}

TEST(Readiness, From_draining_on_it_is_off_whatever_was_set) {
  for (Phase const phase : {Phase::draining, Phase::drained, Phase::cleaning_up, Phase::exited}) {
    EXPECT_FALSE(ready(phase, ReadinessOnStop::late, true));
  }
}

}  // namespace
}  // namespace lastcall::runtime
