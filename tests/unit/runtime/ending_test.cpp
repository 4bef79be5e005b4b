#include "supervisor/runtime/loop/ending.hpp"

#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

/// An ending whose steps are recorded, and whose questions are counted.
struct World {
  boost::asio::io_context io;
  std::vector<std::string> steps;
  int asked_for_report = 0;
  int asked_for_output = 0;
  int asked_for_engine = 0;
  int final_after = 1;  // questions until the answer is yes; 0: never
  int flushed_after = 1;
  int alone_after = 1;
  lifecycle::Instant alone_at{};
  Ending ending{
      io,
      {.say_goodbye = [this] { steps.emplace_back("goodbye"); },
       .report_is_final = [this] { return ++asked_for_report == final_after; },
       .close = [this] { steps.emplace_back("close"); },
       .is_flushed = [this] { return ++asked_for_output == flushed_after; },
       .is_alone =
           [this] { return ++asked_for_engine >= alone_after && monotonic_now() >= alone_at; },
       .stop = [this] { steps.emplace_back("stop"); }}};

  void run(int code = 0) {
    ending.begin(code);
    io.run();
  }
};

std::vector<std::string> const kAll{"goodbye", "close", "stop"};

TEST(Ending, It_begins_in_the_next_turn_and_has_the_code_at_once) {
  World world;
  world.ending.begin(137);
  EXPECT_EQ(world.ending.exit_code(), 137);
  EXPECT_TRUE(world.steps.empty());
  world.io.run();
  EXPECT_EQ(world.steps, kAll);
}

TEST(Ending, A_report_that_may_be_corrected_keeps_everything_open) {
  World world;
  world.final_after = 3;
  world.run();
  EXPECT_EQ(world.asked_for_report, 3);
  EXPECT_EQ(world.steps, kAll);
}

TEST(Ending, Output_that_nobody_takes_is_awaited_for_a_bounded_time) {
  World world;
  world.final_after = 0;
  world.flushed_after = 0;
  lifecycle::Instant const began = monotonic_now();
  world.run();
  EXPECT_GE(monotonic_now() - began, 2 * kFlushWait);
  EXPECT_EQ(world.steps, kAll);
}

TEST(Ending, An_adopted_engine_is_awaited_and_written_output_is_not_asked_for_again) {
  World world;
  world.flushed_after = 2;
  world.alone_after = 5;
  world.run();
  EXPECT_EQ(world.asked_for_engine, 5);
  EXPECT_EQ(world.asked_for_output, 2);
  EXPECT_EQ(world.steps, kAll);
}

TEST(Ending, An_adopted_engine_is_awaited_beyond_the_time_for_output) {
  World world;
  world.flushed_after = 0;
  world.alone_at = monotonic_now() + 2 * kFlushWait;
  world.run();
  EXPECT_GE(monotonic_now(), world.alone_at);
  EXPECT_EQ(world.steps, kAll);
}

}  // namespace
}  // namespace lastcall::runtime
