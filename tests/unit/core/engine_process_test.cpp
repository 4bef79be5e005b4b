#include "core/engine_process.hpp"

#include <gtest/gtest.h>

#include "core/registrations.hpp"
#include "core/shim_link.hpp"

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kLaunch = instant_from_ms(1'000'000);

ShimHello hello(EngineState engine) {
  return {.boot = "b", .engine = engine};
}

TEST(EngineProcess, That_it_runs_is_news_once) {
  EngineProcess engine;
  EXPECT_TRUE(engine.reported_by(hello(EngineState::running)));
  EXPECT_FALSE(engine.reported_by(hello(EngineState::running)));
  EXPECT_FALSE(engine.started());
}

TEST(EngineProcess, A_shim_that_was_given_up_may_be_back_with_it) {
  EngineProcess engine;
  engine.started();
  engine.lost(kLaunch, false);
  EXPECT_TRUE(engine.has_exited());
  EXPECT_EQ(engine.gone_at(), kLaunch);
  EXPECT_TRUE(engine.reported_by(hello(EngineState::running)));
  EXPECT_EQ(engine.gone_at(), std::nullopt);
}

TEST(EngineProcess, Only_the_end_of_one_that_ran_is_explained_by_memory) {
  EngineProcess engine;
  engine.lost(kLaunch, true);
  EXPECT_FALSE(engine.exit().oom);
  engine.forget();
  engine.started();
  engine.lost(kLaunch, true);
  EXPECT_TRUE(engine.exit().oom);
}

TEST(EngineProcess, It_counts_as_killed_only_where_KILL_ended_it) {
  EngineProcess by_kill;
  by_kill.started();
  by_kill.exited(kLaunch, {.exit = {.code = 0, .signal = kSigKill}, .ordered = true},
                 Reported::at_once);
  by_kill.judge_kill(true);
  EXPECT_TRUE(by_kill.was_killed());

  EngineProcess by_itself;
  by_itself.started();
  by_itself.note_kill();
  by_itself.exited(kLaunch, {.exit = {.code = 0, .signal = 15}, .ordered = true},
                   Reported::at_once);
  by_itself.judge_kill(true);
  EXPECT_FALSE(by_itself.was_killed()) << "our KILL came after its end";
}

TEST(EngineProcess, Only_the_end_of_one_that_nobody_ordered_was_its_own) {
  EngineProcess engine;
  engine.started();
  engine.exited(kLaunch, {.exit = {.code = 3}, .ordered = true}, Reported::at_once);
  EXPECT_EQ(engine.exit_text(true), "the engine ended on the shim's stop signal, with code 3");
  EXPECT_EQ(engine.exit_text(false), "the engine exited by itself with code 3");
}

TEST(EngineProcess, The_code_of_a_failed_exec_counts_only_without_a_start_before_it) {
  auto const text = [](int code, bool starts) {
    EngineProcess engine;
    if (starts) {
      engine.started();
    }
    engine.exited(kLaunch, {.exit = {.code = code}}, Reported::at_once);
    return engine.exit_text(false);
  };
  EXPECT_EQ(text(127, false), "the engine's command was not found (127)");
  EXPECT_EQ(text(126, false), "the engine's command cannot be executed (126)");
  EXPECT_EQ(text(1, false), "the engine exited by itself with code 1");
  // `sh -c /no/such` ran, and ends with the same code.
  EXPECT_EQ(text(127, true), "the engine exited by itself with code 127");
}

TEST(EngineProcess, An_order_of_an_earlier_life_is_kept) {
  EngineProcess engine;
  ShimHello reported = hello(EngineState::running);
  reported.ordered = true;
  engine.reported_by(reported);
  EXPECT_TRUE(engine.is_ordered());
  engine.forget();
  EXPECT_FALSE(engine.is_ordered());
}

TEST(ShimLink, Without_a_watch_on_its_process_it_is_lost_after_a_second) {
  ShimLink shim;
  shim.hello(hello(EngineState::running));
  EXPECT_TRUE(shim.disconnected(kLaunch, {.watched = false}));
  EXPECT_EQ(shim.next_deadline(), kLaunch + kShimReturn);
  EXPECT_FALSE(shim.disconnected(kLaunch, {.watched = false})) << "it had gone already";
  shim.hello(hello(EngineState::running));
  EXPECT_EQ(shim.next_deadline(), std::nullopt);
  shim.disconnected(kLaunch, {.watched = true});
  EXPECT_EQ(shim.next_deadline(), std::nullopt);
}

TEST(ShimLink, After_a_stop_the_next_one_is_awaited_if_there_was_one) {
  ShimLink shim;
  shim.stop_ended();
  EXPECT_EQ(shim.state(), ShimState::never);
  shim.hello(hello(EngineState::running));
  shim.stop_ended();
  EXPECT_TRUE(shim.is_released());
  EXPECT_FALSE(shim.is_known());
  shim.stop_ended();
  EXPECT_FALSE(shim.is_released()) << "the stop that ended last had no shim";
}

TEST(Registrations, One_that_gave_up_and_confirms_late_has_confirmed) {
  Registrations registrations(2);
  registrations.register_all();
  registrations.deregister_all();
  EXPECT_FALSE(registrations.is_registered());
  EXPECT_FALSE(registrations.are_settled());
  registrations.settled({.registry = 0, .confirmed = true});
  registrations.settled({.registry = 1, .confirmed = false, .detail = "refused"});
  EXPECT_TRUE(registrations.are_settled());
  EXPECT_FALSE(registrations.are_confirmed());
  registrations.settled({.registry = 1, .confirmed = true});
  EXPECT_TRUE(registrations.are_confirmed());
  EXPECT_EQ(registrations.records()[1].detail, "refused") << "it says why it came late";
}

TEST(Registrations, A_registration_by_an_earlier_life_is_assumed_without_an_order) {
  Registrations none(0);
  none.assume_registered();
  EXPECT_FALSE(none.is_registered());
  Registrations one(1);
  one.assume_registered();
  EXPECT_TRUE(one.is_registered());
  EXPECT_TRUE(one.is_untouched());
}

}  // namespace
}  // namespace lastcall::lifecycle
