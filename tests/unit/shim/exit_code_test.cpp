#include "shim/exit_code.hpp"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

constexpr EngineFate kEndedBySelf{.started = true, .ended = true, .ending = {.code = 42}};
constexpr EngineFate kEndedOnOrder{
    .started = true, .ended = true, .ordered = true, .ending = {.signal = SIGTERM}};
constexpr EngineFate kKilled{
    .started = true, .ended = true, .ordered = true, .killed = true, .ending = {.signal = SIGKILL}};
constexpr EngineFate kEndedBeforeTheKill{
    .started = true, .ended = true, .ordered = true, .killed = true, .ending = {.code = 3}};
constexpr EngineFate kUnkillable{.started = true, .ordered = true, .killed = true};

struct Row {
  char const* name;
  ExitQuestion question;
  int code;
};

TEST(ExitCode, Follows_from_how_the_engine_ended_and_who_took_part) {
  Row const rows[] = {
      {"plain init passes a code on", {.engine = kEndedBySelf}, 42},
      {"plain init adds 128 to a signal", {.engine = kEndedOnOrder}, 128 + SIGTERM},
      {"stop before the start", {.supervised = true, .stopping = true}, 0},
      {"ordered, whatever its status",
       {.supervised = true, .supervisor_seen = true, .stopping = true, .engine = kEndedOnOrder},
       0},
      {"unordered in a stop",
       {.supervised = true, .supervisor_seen = true, .stopping = true, .engine = kEndedBySelf},
       1},
      {"killed in a stop",
       {.supervised = true, .supervisor_seen = true, .stopping = true, .engine = kKilled},
       137},
      {"cannot be killed",
       {.supervised = true, .supervisor_seen = true, .stopping = true, .engine = kUnkillable},
       137},
      {"ended by itself before KILL reached it",
       {.supervised = true,
        .supervisor_seen = true,
        .stopping = true,
        .engine = kEndedBeforeTheKill},
       0},
      {"stopped by order, and no supervisor ever saw it",
       {.supervised = true, .stopping = true, .engine = kEndedOnOrder},
       1},
      {"killed, and no supervisor ever saw it",
       {.supervised = true, .stopping = true, .engine = kKilled},
       1},
      {"by itself", {.supervised = true, .engine = kEndedBySelf}, 1},
      {"by itself, propagated",
       {.supervised = true, .on_exit = OnExit::propagate, .engine = kEndedBySelf},
       42},
      {"unordered in a stop is never propagated",
       {.supervised = true,
        .supervisor_seen = true,
        .stopping = true,
        .on_exit = OnExit::propagate,
        .engine = kEndedBySelf},
       1},
      {"never started, and no stop", {.supervised = true}, 1},
  };
  for (Row const& row : rows) {
    EXPECT_EQ(exit_code(row.question), row.code) << row.name;
  }
}

TEST(ExitCode, A_supervisor_that_was_not_notified_of_the_end_in_time_is_corrected) {
  auto const heeded = [](int given, EngineFate const& engine, bool stopping = true) {
    return heed_code(
        given,
        {.supervised = true, .supervisor_seen = true, .stopping = stopping, .engine = engine});
  };
  EXPECT_EQ(heeded(137, kEndedOnOrder), 0);
  EXPECT_EQ(heeded(137, kEndedBeforeTheKill), 0);
  EXPECT_EQ(heeded(137, kEndedBySelf), 1);
  EXPECT_EQ(heeded(137, kKilled), 137);
  EXPECT_EQ(heeded(137, kUnkillable), 137);
  EXPECT_EQ(heeded(137, kEndedOnOrder, false), 137) << "propagated, and no stop";
  for (int const given : {0, 1, 2, 255}) {
    EXPECT_EQ(heeded(given, kEndedOnOrder), given);
  }
}

TEST(ExitCode, Exec_errors_are_the_ones_of_a_shell) {
  EXPECT_EQ(exec_failure_code(ENOENT), 127);
  for (int const error : {EACCES, EISDIR, ENOEXEC, ENOTDIR, ENOMEM}) {
    EXPECT_EQ(exec_failure_code(error), 126) << error;
  }
}

TEST(ExitCode, Code_9_and_signal_9_are_told_apart) {
  EXPECT_EQ(ending_from_status(9 << 8).code, 9);
  EXPECT_EQ(ending_from_status(9 << 8).signal, 0);
  EXPECT_EQ(ending_from_status(9).signal, 9);
  EXPECT_EQ(ending_from_status(9 | 0x80).signal, 9) << "with a core dump";
}

}  // namespace
}  // namespace lastcall::shim
