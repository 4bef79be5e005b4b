#include "core/engine_tree.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kEnd{Duration{100'000}};
constexpr Instant kKill{Duration{200'000}};

EngineProcessDied tree_death(std::string name, Instant at, int signal = 0) {
  return {.pid = 17, .name = std::move(name), .signal = signal, .at = at};
}

TEST(EngineTreeTest, Processes_left_by_the_main_one_are_waited_for_until_the_last_end_is_reported) {
  EngineTree tree;
  EXPECT_EQ(tree.state(), EngineTree::State::whole);
  tree.left_behind(kEnd, 2, 10s);
  EXPECT_EQ(tree.state(), EngineTree::State::leaving);
  tree.seen(kEnd + 1s, {.alive = 1, .names = {"vllm"}});
  EXPECT_EQ(tree.state(), EngineTree::State::leaving);
  tree.seen(kEnd + 2s, {.alive = 0, .names = {}});
  EXPECT_EQ(tree.state(), EngineTree::State::gone);
  EXPECT_EQ(tree.counted_from(kEnd), kEnd + 2s);
  EXPECT_EQ(tree.names(), std::vector<std::string>{"vllm"}) << "for the report";
}

TEST(EngineTreeTest, The_wait_ends_a_moment_after_the_grace_or_after_the_kill) {
  EngineTree tree;
  tree.left_behind(kEnd, 1, 10s);
  EXPECT_EQ(tree.gone_by(kKill), kEnd + 10s + 2250ms);
  EXPECT_EQ(tree.gone_by(kEnd + 3s), kEnd + 3s);
  tree.give_up(kEnd + 13s);
  EXPECT_EQ(tree.gone_by(kKill), std::nullopt);
  EXPECT_EQ(tree.counted_from(kEnd), kEnd + 10s) << "as the shim counts its patience";
}

TEST(EngineTreeTest, A_rest_that_was_killed_is_not_waited_for_until_its_grace_is_over) {
  EngineTree tree;
  tree.left_behind(kEnd, 1, 10s);
  tree.rest_killed(kEnd + 1s);
  EXPECT_EQ(tree.gone_by(kKill), kEnd + 1s + 2250ms);
}

TEST(EngineTreeTest, A_rest_of_workers_alone_is_told_apart_from_a_server_behind_a_shell) {
  std::vector<std::string> const patterns{"VLLM::EngineCore*", "VLLM::Worker*"};
  auto const are = [&](std::vector<std::string> names) {
    return are_workers(patterns, {.alive = 3, .names = std::move(names)});
  };
  EXPECT_TRUE(are({"VLLM::EngineCore_DP0", "VLLM::Worker_TP1"}));
  EXPECT_TRUE(are({"VLLM::Worker_TP1", "multiprocessing.resource_tracker"}));
  EXPECT_FALSE(are({"vllm", "VLLM::EngineCore"})) << "the server itself";
  EXPECT_FALSE(are({"multiprocessing.resource_tracker"})) << "it ends by itself";
  EXPECT_FALSE(are({})) << "too many to be named, or an older shim";
}

TEST(EngineTreeTest, Nobody_left_is_gone_at_once) {
  EngineTree tree;
  tree.left_behind(kEnd, 0, 10s);
  EXPECT_EQ(tree.state(), EngineTree::State::gone);
}

TEST(EngineTreeTest, The_first_death_is_named_for_some_seconds) {
  EngineTree tree;
  tree.died(kEnd, tree_death("VLLM::EngineCore", kEnd, 9));
  tree.died(kEnd + 1s, tree_death("VLLM::Worker_TP0", kEnd + 1s));
  EXPECT_EQ(tree.first_death(kEnd + 800ms),
            "VLLM::EngineCore, pid 17, vanished 0.8 s before (killed by signal 9)");
  EXPECT_EQ(tree.first_death(kEnd + 5001ms), "");
  tree.died(kEnd + 6s, tree_death("ninja", kEnd + 6s));
  EXPECT_EQ(tree.first_death(kEnd + 6s), "ninja, pid 17, vanished 0.0 s before");
}

TEST(EngineTreeTest, Names_match_whole_or_by_their_beginning) {
  std::vector<std::string> const patterns{"VLLM::EngineCore*", "core"};
  EXPECT_TRUE(matches_any(patterns, "VLLM::EngineCore"));
  EXPECT_TRUE(matches_any(patterns, "VLLM::EngineCore_DP0"));
  EXPECT_TRUE(matches_any(patterns, "core"));
  EXPECT_FALSE(matches_any(patterns, "core2"));
  EXPECT_FALSE(matches_any({}, "core"));
}

TEST(EngineTreeTest, A_death_is_the_last_one_only_where_no_essential_process_is_left) {
  std::vector<std::string> const patterns{"core*"};
  EngineProcessDied death = tree_death("core_0", kEnd);
  EXPECT_FALSE(is_last_of(patterns, death)) << "an older shim does not report what is left";
  death.alive = 2;
  EXPECT_FALSE(is_last_of(patterns, death)) << "too many to be named";
  death.names = {"helper", "core_1"};
  EXPECT_FALSE(is_last_of(patterns, death));
  death.names = {"helper"};
  EXPECT_TRUE(is_last_of(patterns, death));
  death.names.clear();
  death.alive = 0;
  EXPECT_TRUE(is_last_of(patterns, death));
}

}  // namespace
}  // namespace lastcall::lifecycle
