#include "supervisor/kube/stop_report.hpp"

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

std::uint64_t count_of(StopReport const& report, lifecycle::Outcome outcome) {
  return report.requests.at(static_cast<std::size_t>(outcome));
}

TEST(StopReport, The_first_line_of_a_termination_message_is_the_report) {
  auto const report = read_report(R"({"cause":"signal","mode":"graceful","in_flight":"sdk",)"
                                  R"("requests":{"completed":3,"lost":1}})"
                                  "\nwords of the engine");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, "signal");
  EXPECT_TRUE(report->is_graceful);
  EXPECT_TRUE(report->is_known);
  EXPECT_EQ(count_of(*report, lifecycle::Outcome::completed), 3U);
  EXPECT_EQ(report->lost(), 1U);
}

TEST(StopReport, Requests_that_died_with_their_engine_or_were_cut_unseen_are_lost_too) {
  auto const died =
      read_report(R"({"cause":"x","in_flight":"sdk","requests":{"lost":1,"engine_dead":2}})");
  ASSERT_TRUE(died);
  EXPECT_EQ(died->lost(), 3U);
  auto const cut =
      read_report(R"({"cause":"x","in_flight":"gauges","in_flight_at_end":4,"requests":{}})");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->lost(), 4U);
}

TEST(StopReport, Nobody_knows_unless_a_source_was_there_or_nothing_can_have_run) {
  EXPECT_FALSE(read_report(R"({"cause":"x","in_flight":"unknown","requests":{}})")->is_known);
  EXPECT_FALSE(read_report(R"({"cause":"x"})")->is_known);
  EXPECT_TRUE(read_report(R"({"cause":"x","stopped_in_starting":true})")->is_known);
}

TEST(StopReport, Nobody_knows_how_requests_ended_that_only_a_dead_supervisor_counted) {
  auto const of = [](std::string const& left) {
    return read_report(R"({"cause":"x","in_flight":"sdk","requests":{},"in_flight_at_phase":)" +
                       left + "}");
  };
  EXPECT_FALSE(of("2")->is_known);
  EXPECT_TRUE(of("0")->is_known);
}

TEST(StopReport, Other_texts_are_none) {
  for (char const* const text : {"", "{", "[]", "Error: out of memory", R"({"cause":1})", "null"}) {
    EXPECT_FALSE(read_report(text)) << text;
  }
}

TEST(StopReport, An_event_sums_one_up) {
  auto const report = read_event(
      "Drained", "graceful stop: signal; drained in 2 s; requests: 4 completed, 1 migrated");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, "signal");
  EXPECT_EQ(count_of(*report, lifecycle::Outcome::completed), 4U);
  EXPECT_EQ(count_of(*report, lifecycle::Outcome::migrated), 1U);
  EXPECT_TRUE(report->is_known);
  EXPECT_FALSE(read_event("Killing", "graceful stop: x; requests: 4 completed"));
  EXPECT_FALSE(read_event("Drained", "no counts"));
}

}  // namespace
}  // namespace lastcall::kube
