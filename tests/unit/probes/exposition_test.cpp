#include "probes/metrics/exposition.hpp"

#include <gtest/gtest.h>

namespace lastcall::probes::test {
namespace {

constexpr std::string_view kOurs =
    "# HELP lastcall_a_total How many\n# TYPE lastcall_a_total counter\nlastcall_a_total 3\n"
    "# HELP lastcall_b_seconds How long\n# TYPE lastcall_b_seconds histogram\n"
    "lastcall_b_seconds_count 1\n";
constexpr std::string_view kEngine =
    "# HELP vllm:run Requests\n# TYPE vllm:run gauge\nvllm:run{model=\"a } # b\"} 2.0\n"
    "# a remark\nvllm:odd +Inf 1700000000000\n";

TEST(Exposition, The_engines_lines_stand_behind_ours_as_they_are) {
  EXPECT_EQ(merge_expositions(kOurs, kEngine, false), std::string(kOurs) + std::string(kEngine));
}

TEST(Exposition, A_text_without_its_last_line_feed_is_whole) {
  EXPECT_EQ(merge_expositions("ours 1\n", "theirs NaN", false), "ours 1\ntheirs NaN\n");
  EXPECT_EQ(merge_expositions("ours 1\n", "", false), "ours 1\n");
}

TEST(Exposition, Families_that_ours_has_already_are_left_out_with_all_their_lines) {
  EXPECT_EQ(
      merge_expositions(kOurs,
                        "# HELP lastcall_a_total Other\n# TYPE lastcall_a_total counter\n"
                        "lastcall_a_total 9\nkept 1\nlastcall_b_seconds_count 2\n"
                        "lastcall_b_seconds_bucket{le=\"+Inf\"} 2\nlastcall_b_seconds_max 1\n",
                        false),
      std::string(kOurs) + "kept 1\nlastcall_b_seconds_max 1\n");
  EXPECT_EQ(merge_expositions(kOurs, "# TYPE lastcall_a counter\nlastcall_a_total 9\n# EOF\n", true)
                ->find(" 9"),
            std::string::npos);
}

TEST(Exposition, In_openmetrics_ours_is_rewritten_and_one_end_is_the_last_line) {
  EXPECT_EQ(merge_expositions(
                kOurs, "# TYPE vllm:n counter\nvllm:n_total 1 # {id=\"x\"} 1 5.0\n# EOF\n", true),
            "# HELP lastcall_a How many\n# TYPE lastcall_a counter\nlastcall_a_total 3\n"
            "# HELP lastcall_b_seconds How long\n# TYPE lastcall_b_seconds histogram\n"
            "lastcall_b_seconds_count 1\n"
            "# TYPE vllm:n counter\nvllm:n_total 1 # {id=\"x\"} 1 5.0\n# EOF\n");
  EXPECT_EQ(merge_expositions(kOurs, "vllm:n 1\n", true), std::nullopt) << "it was cut off";
}

TEST(Exposition, Text_that_no_scraper_could_read_is_not_taken_in) {
  for (char const* const text :
       {"<html>\n", "name\n", "name{ 1\n", "name 0x7\n", "9name 1\n", "name 1 tail\n",
        "{le=\"1\"} 2\n", " 2\n", "# TYPE  counter\n", "# TYPE name\n", "# TYPE name thing\n",
        "# TYPE 9name gauge\n", "#\tTYPE\tna-me gauge\n"}) {
    EXPECT_EQ(merge_expositions(kOurs, text, false), std::nullopt) << text;
  }
}

TEST(Exposition, What_only_one_of_the_formats_has_is_not_taken_into_the_other) {
  EXPECT_NE(merge_expositions(kOurs, "# TYPE a untyped\na 1\n", false), std::nullopt);
  EXPECT_EQ(merge_expositions(kOurs, "# TYPE a untyped\na 1\n# EOF\n", true), std::nullopt);
  EXPECT_EQ(merge_expositions(kOurs, "# TYPE a info\na 1\n", false), std::nullopt);
  EXPECT_NE(merge_expositions(kOurs, "# TYPE a info\na 1\n# EOF\n", true), std::nullopt);
  EXPECT_EQ(merge_expositions(kOurs, "# a remark\na 1\n# EOF\n", true), std::nullopt);
}

TEST(Exposition, A_family_is_recognised_however_many_blanks_its_line_has) {
  EXPECT_EQ(
      merge_expositions(kOurs, "#  TYPE\tlastcall_a_total counter\nlastcall_a_total 9\n", false),
      std::string(kOurs));
}

TEST(Exposition, Series_that_are_nothing_but_a_part_of_a_family_are_series) {
  EXPECT_EQ(merge_expositions(kOurs, "_total 1\n_bucket{le=\"1\"} 2\n", false),
            std::string(kOurs) + "_total 1\n_bucket{le=\"1\"} 2\n");
}

TEST(Exposition, Formats_are_told_apart_by_their_media_type) {
  EXPECT_TRUE(names_openmetrics("application/openmetrics-text; version=1.0.0; charset=utf-8"));
  EXPECT_FALSE(names_openmetrics("text/plain; version=0.0.4"));
}

}  // namespace
}  // namespace lastcall::probes::test
