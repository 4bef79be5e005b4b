#include "supervisor/runtime/record/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/runtime/scratch_directory.hpp"

namespace lastcall::runtime {
namespace {

lifecycle::Report report_of(std::string detail) {
  lifecycle::Report report;
  report.cause = "fatal";
  report.detail = std::move(detail);
  report.mode = lifecycle::StopMode::fatal;
  report.exit_code = 1;
  report.requests[static_cast<std::size_t>(lifecycle::Outcome::lost)] = 4;
  report.registries = {{lifecycle::RegistryRecord::State::failed, "down"}};
  return report;
}

TEST(Report, It_has_cause_code_requests_and_registries) {
  auto const json = nlohmann::json::parse(report_json(report_of("why"), {.registries = {"etcd"}}));
  EXPECT_EQ(json["cause"], "fatal");
  EXPECT_EQ(json["detail"], "why");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["requests"]["lost"], 4);
  EXPECT_EQ(json["registries"][0]["name"], "etcd");
  EXPECT_EQ(json["registries"][0]["detail"], "down");
  EXPECT_FALSE(json.contains("in_flight_at_end"));
}

TEST(Report, It_has_how_much_was_in_flight_when_time_ended_the_drain) {
  lifecycle::Report report = report_of("why");
  report.in_flight_at_end = 3;
  EXPECT_EQ(nlohmann::json::parse(report_json(report, {}))["in_flight_at_end"], 3);
}

TEST(Report, It_has_how_much_was_in_flight_before_a_restart_if_not_all_of_it_was_seen_to_end) {
  lifecycle::Report report = report_of("why");
  report.unseen = 0;  // it is not known how many
  EXPECT_FALSE(nlohmann::json::parse(report_json(report, {})).contains("in_flight_at_phase"));
  report.unseen = 3;
  EXPECT_EQ(nlohmann::json::parse(report_json(report, {}))["in_flight_at_phase"], 3);
  auto const will = nlohmann::json::parse(will_json(report, lifecycle::Phase::draining, 1));
  EXPECT_EQ(will["in_flight_at_phase"], 3);
}

TEST(Report, However_long_the_texts_are_it_fits_and_keeps_the_end_of_a_traceback) {
  for (std::string const piece : {"x", "\n", "\xC3\xA9", "\xFF", "\x01"}) {
    std::string detail;
    while (detail.size() < 60'000) {
      detail += piece;
    }
    lifecycle::Report report = report_of(detail + "the last word");
    for (auto& item : report.cleanup) {
      item.detail = detail;
    }
    report.registries.resize(20, {lifecycle::RegistryRecord::State::failed, detail});
    std::string const text =
        report_json(report, {.registries = std::vector<std::string>(20, "registry")});
    EXPECT_LE(text.size(), kLargestReport);
    auto const json = nlohmann::json::parse(text);
    EXPECT_EQ(json["exit_code"], 1);
  }
  auto const json =
      nlohmann::json::parse(report_json(report_of(std::string(60'000, 'x') + "end"), {}));
  EXPECT_TRUE(json["detail"].get<std::string>().ends_with("xend"));
}

TEST(Report, An_engine_that_was_lost_with_its_shim_has_no_exit_code) {
  lifecycle::Report report = report_of("gone");
  report.engine_known = true;
  report.engine = lifecycle::EngineState::exited;
  auto const json = nlohmann::json::parse(report_json(report, {.engine_end_is_unknown = true}));
  EXPECT_EQ(json["engine"]["state"], "unknown");
  EXPECT_FALSE(json["engine"].contains("code"));
  EXPECT_EQ(json["engine"]["oom"], false);
  report.engine_exit.oom = true;
  auto const oom = nlohmann::json::parse(report_json(report, {.engine_end_is_unknown = true}));
  EXPECT_EQ(oom["engine"]["oom"], true);
  EXPECT_EQ(oom["engine"]["detail"], "its container was killed for lack of memory (oom)");
}

TEST(Report, The_termination_log_is_written_only_where_it_exists_as_a_file) {
  ScratchDirectory const scratch;
  EXPECT_FALSE(write_termination_log(scratch / "none", "{}"));
  EXPECT_FALSE(scratch.has("none"));
  EXPECT_FALSE(write_termination_log("/dev/null", "{}"));
  scratch.write("log", "an older and longer message");
  EXPECT_TRUE(write_termination_log(scratch / "log", "{}"));
  EXPECT_EQ(scratch.read("log"), "{}\nan older and longer message\n");
}

TEST(Report, The_termination_log_keeps_the_last_lines_that_are_no_report) {
  ScratchDirectory const scratch;
  std::string const first(3'000, 'a');
  std::string const last(1'500, 'b');
  scratch.write("log", first + "\n{\"cause\":\"signal\"}\n" + last);
  std::string const report = R"({"cause":"fatal"})";
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(write_termination_log(scratch / "log", report));
    EXPECT_EQ(scratch.read("log"), report + "\n" + last + "\n");
  }
}

}  // namespace
}  // namespace lastcall::runtime
