#include "core/exit_code.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

struct ExitRow {
  char const* name;
  ExitFacts facts;
  int code;
};

class ExitCodeTable : public testing::TestWithParam<ExitRow> {};

TEST_P(ExitCodeTable, Gives_the_documented_code) {
  EXPECT_EQ(exit_code(GetParam().facts), GetParam().code);
}

ExitFacts graceful() {
  return {};
}
ExitFacts fatal() {
  ExitFacts facts;
  facts.mode = StopMode::fatal;
  return facts;
}
ExitFacts with(ExitFacts facts, auto change) {
  change(facts);
  return facts;
}

INSTANTIATE_TEST_SUITE_P(
    ExitCode, ExitCodeTable,
    testing::Values(
        ExitRow{"graceful", graceful(), 0},
        ExitRow{"graceful_whatever_the_status",
                with(graceful(), [](auto& f) { f.engine.code = 7; }), 0},
        ExitRow{"graceful_whatever_the_signal",
                with(graceful(), [](auto& f) { f.engine.signal = 15; }), 0},
        ExitRow{"killed_at_the_deadline", with(graceful(), [](auto& f) { f.engine_killed = true; }),
                137},
        ExitRow{"died_with_work", with(graceful(), [](auto& f) { f.died_with_work = true; }), 1},
        ExitRow{"stopped_in_starting",
                with(graceful(), [](auto& f) { f.stopped_in_starting = f.engine_killed = true; }),
                0},
        ExitRow{"fatal", fatal(), 1},
        ExitRow{"fatal_and_killed", with(fatal(), [](auto& f) { f.engine_killed = true; }), 1},
        ExitRow{"engine_exit_is_fatal",
                with(fatal(), [](auto& f) { f.caused_by_engine_exit = true; }), 1},
        ExitRow{"a_command_that_could_not_run_passes_its_code",
                with(fatal(),
                     [](auto& f) {
                       f.caused_by_engine_exit = f.could_not_run = true;
                       f.engine.code = 127;
                     }),
                127},
        ExitRow{"propagate_passes_the_code",
                with(fatal(),
                     [](auto& f) {
                       f.caused_by_engine_exit = true;
                       f.on_exit = OnExit::propagate;
                       f.engine.code = 42;
                     }),
                42},
        ExitRow{"propagate_passes_0_too",
                with(fatal(),
                     [](auto& f) {
                       f.caused_by_engine_exit = true;
                       f.on_exit = OnExit::propagate;
                     }),
                0},
        ExitRow{"propagate_passes_the_signal",
                with(fatal(),
                     [](auto& f) {
                       f.caused_by_engine_exit = true;
                       f.on_exit = OnExit::propagate;
                       f.engine.signal = 11;
                     }),
                139},
        ExitRow{"propagate_is_only_for_the_engines_own_exit",
                with(fatal(),
                     [](auto& f) {
                       f.on_exit = OnExit::propagate;
                       f.engine.code = 42;
                     }),
                1}),
    [](auto const& row) { return row.param.name; });

}  // namespace
}  // namespace lastcall::lifecycle
