#include "router/load_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

ReportedLoad read(std::string const& text, std::size_t step = 1'000'000) {
  LoadText reading;
  for (std::size_t at = 0; at < text.size(); at += step) {
    reading.take(std::string_view(text).substr(at, step));
  }
  return reading.finish();
}

constexpr char const* kSidecar = R"(# TYPE lastcall_rank_active_decode_blocks gauge
lastcall_rank_active_decode_blocks{dp_rank="0"} 12
lastcall_rank_active_decode_blocks{dp_rank="1"} NaN
lastcall_rank_kv_total_blocks{dp_rank="0"} 100
lastcall_rank_active_prefill_tokens{dp_rank="1"} 4e3
lastcall_requests_in_flight{endpoint="chat_completions"} 2
lastcall_requests_in_flight{endpoint="completions"} 1
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:num_requests_running{engine="0"} 9
other{a="b"} 1
)";

TEST(LoadText, Lastcalls_own_figures_go_before_gauges) {
  ReportedLoad const load = read(kSidecar);
  EXPECT_FALSE(load.by_gauges);
  EXPECT_EQ(load.requests, 3U);
  ASSERT_EQ(load.ranks.size(), 2U);
  EXPECT_EQ(load.ranks[0].active_decode_blocks, 12U);
  EXPECT_EQ(load.ranks[0].kv_total_blocks, 100U);
  EXPECT_FALSE(load.ranks[1].active_decode_blocks);
  EXPECT_EQ(load.ranks[1].active_prefill_tokens, 4000U);
}

TEST(LoadText, An_engine_without_a_cache_of_prompts_names_that) {
  std::string const begin = "vllm:cache_config_info{block_size=\"16\",";
  EXPECT_TRUE(read(begin + "enable_prefix_caching=\"False\",engine=\"0\"} 1.0\n").keeps_no_prompts);
  EXPECT_FALSE(read(begin + "enable_prefix_caching=\"True\",engine=\"0\"} 1.0\n").keeps_no_prompts);
  EXPECT_FALSE(read(begin + "engine=\"0\"} 1.0\n").keeps_no_prompts);
  EXPECT_FALSE(read(kSidecar).keeps_no_prompts);
}

TEST(LoadText, It_may_come_in_pieces_of_any_size) {
  for (std::size_t step = 1; step < 40; ++step) {
    ReportedLoad const load = read(kSidecar, step);
    EXPECT_EQ(load.requests, 3U) << step;
    EXPECT_EQ(load.ranks.size(), 2U) << step;
  }
}

TEST(LoadText, Gauges_of_engines_show_a_share_of_each_rank) {
  ReportedLoad const vllm = read(
      "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"a,engine=b\"} 0.25 1700000000\n"
      "vllm:num_requests_running{engine=\"1\"} 2.0\nvllm:num_requests_waiting{engine=\"1\"} 3\n");
  EXPECT_TRUE(vllm.by_gauges);
  ASSERT_EQ(vllm.ranks.size(), 1U);
  EXPECT_EQ(vllm.ranks[0].rank, 1U);
  EXPECT_EQ(vllm.ranks[0].kv_usage, 0.25);
  EXPECT_EQ(vllm.requests, 5U);
  // Without a label, and the last line without its end.
  ReportedLoad const sglang = read("sglang:token_usage{model_name=\"m\",tp_dp_rank=\"7\"} 0.75");
  ASSERT_EQ(sglang.ranks.size(), 1U);
  EXPECT_EQ(sglang.ranks[0].rank, 0U);
  EXPECT_FALSE(sglang.requests);
}

TEST(LoadText, Text_that_is_no_figure_is_not_reported) {
  for (char const* text :
       {"", "\n\n", "sglang:token_usage", "sglang:token_usage ", "sglang:token_usage -1",
        "sglang:token_usage +Inf", "sglang:token_usage{dp_rank=\"x\"} 1",
        "sglang:token_usage{dp_rank=\"1} 0.5", "sglang:token_usage{dp_rank=\"1\" 1",
        "sglang:token_usage{dp_rank=\"99999999999\"} 1", "sglang:token_usages 1", "{} 1", " 1"}) {
    EXPECT_TRUE(read(text).ranks.empty()) << text;
  }
}

TEST(LoadText, Memory_is_bounded) {
  std::string text(probes::TextLines::kLongestLine + 1, 'x');
  text += "\nsglang:token_usage 0.5\n";
  for (std::size_t rank = 0; rank < 2 * LoadText::kMostRanks; ++rank) {
    text += "lastcall_rank_kv_total_blocks{dp_rank=\"" + std::to_string(rank) + "\"} 1\n";
  }
  EXPECT_EQ(read(text, 100).ranks.size(), LoadText::kMostRanks);
}

}  // namespace
}  // namespace lastcall::router
