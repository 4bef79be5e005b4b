#include "probes/checks/prometheus_text.hpp"

#include <gtest/gtest.h>

namespace lastcall::probes {
namespace {

std::optional<double> sum_of(std::string_view text, std::string const& name = "m") {
  PrometheusText parsed({name, "other"});
  parsed.take(text);
  parsed.finish();
  return parsed.sum(name);
}

TEST(PrometheusText, Series_of_a_metric_are_summed_over_models_and_ranks) {
  EXPECT_EQ(sum_of("# HELP m text\n# TYPE m gauge\nm{rank=\"0\"} 2.0\nm{rank=\"1\"} 3\nmm 7\n"), 5);
  EXPECT_EQ(sum_of("m 4"), 4) << "the last line needs no line feed";
  EXPECT_EQ(sum_of("vllm:num{a=\"b\"}\t1e2 \r\n", "vllm:num"), 100);
}

TEST(PrometheusText, The_least_series_of_a_metric_is_known_too) {
  PrometheusText parsed({"m", "bad", "none"});
  parsed.take("m{rank=\"0\"} 0.9\nm{rank=\"1\"} 0.25\nm 0.5\nbad 1\nbad NaN\n");
  parsed.finish();
  EXPECT_EQ(parsed.least("m"), 0.25);
  EXPECT_EQ(parsed.least("bad"), std::nullopt);
  EXPECT_EQ(parsed.least("none"), std::nullopt);
}

TEST(PrometheusText, Labels_may_hold_whatever_text_does) {
  EXPECT_EQ(sum_of(R"(m{name="a } 9 \" 8 {",x="\\"} 1)"), 1);
  EXPECT_EQ(sum_of("m{} 1\nm {a=\"b\"} 2\n"), 3);
}

TEST(PrometheusText, Timestamps_and_exemplars_behind_a_value_are_no_part_of_it) {
  EXPECT_EQ(
      sum_of("m 1 1395066363000\nm 2 # {trace=\"x\"} 0.5 1.2\nm 3 17.5 # {a=\"b\"} 4\n# EOF\n"), 6);
}

TEST(PrometheusText, A_metric_that_is_not_there_has_no_value) {
  EXPECT_EQ(sum_of(""), std::nullopt);
  EXPECT_EQ(sum_of("# TYPE m gauge\nm_total 3\n"), std::nullopt);
}

TEST(PrometheusText, A_series_that_is_no_count_spoils_its_metric_and_no_other) {
  for (std::string const bad : {"m NaN", "m +Inf", "m -1", "m", "m{a=\"b\"", "m{a=\"b\"}", "m 0x7",
                                "m 1x", "m 1 z", "m {"}) {
    PrometheusText parsed({"m", "other"});
    parsed.take("m 1\n" + bad + "\nother 2\n");
    parsed.finish();
    EXPECT_EQ(parsed.sum("m"), std::nullopt) << bad;
    EXPECT_EQ(parsed.sum("other"), 2) << bad;
  }
}

TEST(PrometheusText, It_does_not_matter_in_which_pieces_a_text_comes) {
  std::string const text = "m{a=\"1\"} 10\nother 5\nm{a=\"2\"} 20";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    PrometheusText parsed({"m"});
    for (std::size_t at = 0; at < text.size(); at += size) {
      parsed.take(std::string_view(text).substr(at, size));
    }
    parsed.finish();
    EXPECT_EQ(parsed.sum("m"), 30) << size;
  }
}

TEST(PrometheusText, A_line_without_end_takes_no_memory_and_spoils_what_it_names) {
  PrometheusText parsed({"m", "other"});
  parsed.take("m{a=\"");
  for (int i = 0; i < 1000; ++i) {
    parsed.take(std::string(1024, 'x'));
  }
  parsed.take("\"} 1\nother 2\n");
  parsed.finish();
  EXPECT_EQ(parsed.sum("m"), std::nullopt);
  EXPECT_EQ(parsed.sum("other"), 2);
}

}  // namespace
}  // namespace lastcall::probes
