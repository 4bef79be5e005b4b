#include "supervisor/runtime/record/final_report.hpp"

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

constexpr char const* kReport =
    R"({"cause":"signal","exit_code":137,"engine":{"state":"running"}})";

FinalReport ordered(int code, bool end_is_reported = false) {
  FinalReport report;
  report.publish(kReport);
  report.shim_ordered(code, end_is_reported);
  return report;
}

TEST(FinalReport, A_137_is_corrected_by_the_word_of_an_end_without_a_kill) {
  FinalReport report = ordered(137);
  ASSERT_TRUE(report.is_open());
  auto const right = report.engine_exited({.signal = 15, .ordered = true});
  ASSERT_TRUE(right);
  EXPECT_EQ(right->code, 0);
  EXPECT_EQ(right->report, R"({"cause":"signal","exit_code":0,"engine":{"state":"running"}})");
  EXPECT_FALSE(report.is_open());
}

TEST(FinalReport, Without_our_order_it_is_1) {
  FinalReport report = ordered(137);
  EXPECT_EQ(report.engine_exited({.code = 0})->code, 1);
}

TEST(FinalReport, A_kill_confirms_it) {
  FinalReport killed = ordered(137);
  EXPECT_FALSE(killed.engine_exited({.signal = 9, .ordered = true}));
  EXPECT_FALSE(killed.is_open());
  EXPECT_FALSE(ordered(137).engine_exited({.code = 137, .ordered = true}));  // as a shell has it
}

TEST(FinalReport, No_other_code_waits_for_a_word) {
  for (int const code : {0, 1}) {
    FinalReport report = ordered(code);
    EXPECT_FALSE(report.is_open());
    EXPECT_FALSE(report.engine_exited({.signal = 15, .ordered = true}));
  }
}

TEST(FinalReport, Nor_does_a_137_of_an_engine_whose_end_was_reported) {
  EXPECT_FALSE(ordered(137, true).is_open());
}

TEST(FinalReport, It_is_corrected_after_the_supervisor_is_ready_for_the_next_engine) {
  FinalReport report = ordered(137);
  report.forget();
  EXPECT_EQ(report.text(), "");
  EXPECT_TRUE(report.engine_exited({.signal = 15, .ordered = true}));
}

}  // namespace
}  // namespace lastcall::runtime
