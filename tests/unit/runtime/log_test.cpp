#include "supervisor/runtime/log.hpp"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::runtime {
namespace {

TEST(Log, A_json_record_is_one_line_of_valid_json_whatever_it_holds) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::json, out);
  std::string const nasty("quote\" back\\ line\nnul\0 bad\xFF", 28);
  log.error(nasty, {{"detail", nasty}, {"n", -3}, {"yes", true}, Field::json("raw", "{\"a\":1}")});
  std::string const text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  auto const json = nlohmann::json::parse(text);
  EXPECT_EQ(json["level"], "ERROR");
  EXPECT_EQ(json["n"], -3);
  EXPECT_EQ(json["yes"], true);
  EXPECT_EQ(json["raw"]["a"], 1);
  EXPECT_EQ(json["msg"], json["detail"]);
}

TEST(Log, An_absent_field_is_not_written) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::json, out);
  log.info("m", {{"gone", std::optional<int>{}}, {"here", std::optional<int>{1}}});
  auto const json = nlohmann::json::parse(out.str());
  EXPECT_FALSE(json.contains("gone"));
  EXPECT_EQ(json["here"], 1);
}

TEST(Log, Levels_below_the_chosen_one_are_silent_until_it_changes) {
  std::ostringstream out;
  Log log(LogLevel::warning, LogFormat::text, out);
  log.info("quiet");
  EXPECT_EQ(out.str(), "");
  log.set_level(LogLevel::debug);
  log.debug("loud");
  EXPECT_NE(out.str().find("DEBUG    loud"), std::string::npos);
}

TEST(Log, Text_quotes_what_has_spaces_and_shows_a_traceback_as_lines) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::text, out);
  log.critical("fatal stop", {{"cause", "fatal"}, {"why", "two words"}, {"detail", "a\nb"}});
  EXPECT_NE(out.str().find("CRITICAL fatal stop cause=fatal why=\"two words\"\n"),
            std::string::npos);
  EXPECT_NE(out.str().find("  detail:\n    a\n    b\n"), std::string::npos);
}

}  // namespace
}  // namespace lastcall::runtime
