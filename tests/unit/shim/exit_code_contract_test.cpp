// The shim links nothing of the supervisor, so its exit codes are a copy; here both are asked about
// the same ends of an engine.
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/exit_code.hpp"
#include "shim/exit_code.hpp"

namespace lastcall::shim {
namespace {

/// One end of an engine, in neither side's words. The shim alone knows nothing of requests, and of
/// `starting` only what came before the start, so that more is not asked here.
struct End {
  bool in_stop = false;  // the stop had begun before it
  bool started = true;
  bool ended = true;
  bool ordered = false;       // our stop signal came first
  bool kill_was_due = false;  // ... and then our KILL
  Ending ending;
  bool propagated = false;
};

std::string in_words(End const& end) {
  std::string text = end.in_stop ? "in a stop" : "without a stop";
  text += end.started ? ", started" : ", never started";
  text += end.ended ? ", ended" : ", not ended";
  text += end.ordered ? ", ordered" : ", unordered";
  text += end.kill_was_due ? ", KILL was due" : "";
  text += end.propagated ? ", propagated" : "";
  return text + ", code " + std::to_string(end.ending.code) + ", signal " +
         std::to_string(end.ending.signal);
}

ExitQuestion as_the_shim_sees_it(End const& end) {
  return {.supervised = true,
          .supervisor_seen = true,
          .stopping = end.in_stop,
          .on_exit = end.propagated ? OnExit::propagate : OnExit::fatal,
          .engine = {.started = end.started,
                     .ended = end.ended,
                     .ordered = end.ordered,
                     .killed = end.kill_was_due,
                     .ending = end.ending}};
}

lifecycle::ExitFacts as_the_supervisor_sees_it(End const& end) {
  lifecycle::ExitFacts facts;
  facts.mode = end.in_stop ? lifecycle::StopMode::graceful : lifecycle::StopMode::fatal;
  facts.stopped_in_starting = end.in_stop && !end.started;
  facts.engine_killed =
      end.started && (!end.ended || (end.kill_was_due && end.ending.signal == SIGKILL));
  // Whatever is not known counts as work.
  facts.died_with_work = end.in_stop && end.started && end.ended && !end.ordered;
  facts.caused_by_engine_exit = !end.in_stop && end.ended;
  facts.engine = {.code = end.ending.code, .signal = end.ending.signal, .oom = false};
  facts.on_exit = end.propagated ? lifecycle::OnExit::propagate : lifecycle::OnExit::fatal;
  return facts;
}

std::vector<Ending> endings() {
  std::vector<Ending> all;
  for (int code = 0; code < 256; ++code) {
    all.push_back({.code = code, .signal = 0});
  }
  for (int signal = 1; signal <= 64; ++signal) {
    all.push_back({.code = 0, .signal = signal});
  }
  return all;
}

/// Every end that there can be: KILL is only due after the order, and both only in a stop.
std::vector<End> every_end() {
  std::vector<End> all;
  for (bool const propagated : {false, true}) {
    all.push_back({.in_stop = true, .started = false, .ended = false, .propagated = propagated});
    all.push_back({.in_stop = true,
                   .ended = false,
                   .ordered = true,
                   .kill_was_due = true,
                   .propagated = propagated});
    for (Ending const& ending : endings()) {
      all.push_back({.ending = ending, .propagated = propagated});
      all.push_back({.in_stop = true, .ending = ending, .propagated = propagated});
      for (bool const kill_was_due : {false, true}) {
        all.push_back({.in_stop = true,
                       .ordered = true,
                       .kill_was_due = kill_was_due,
                       .ending = ending,
                       .propagated = propagated});
      }
    }
  }
  return all;
}

TEST(ExitCodeContract, Every_end_has_the_same_code_with_a_supervisor_and_without) {
  std::vector<End> const ends = every_end();
  ASSERT_EQ(ends.size(), 2 * (2 + 4 * 320));
  for (End const& end : ends) {
    EXPECT_EQ(exit_code(as_the_shim_sees_it(end)),
              lifecycle::exit_code(as_the_supervisor_sees_it(end)))
        << in_words(end);
  }
}

TEST(ExitCodeContract, Numbers_are_the_same) {
  EXPECT_EQ(kExitFatal, lifecycle::kExitFatal);
  EXPECT_EQ(kExitKilled, lifecycle::kExitKilled);
  EXPECT_EQ(kExitNotExecutable, lifecycle::kExitNotExecutable);
  EXPECT_EQ(kExitNotFound, lifecycle::kExitNotFound);
}

}  // namespace
}  // namespace lastcall::shim
