#include "router/load_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/parse_number.hpp"

namespace lastcall::router {
namespace {

enum class Figure : std::uint8_t { blocks, total, tokens, usage, in_flight, running };

struct Known {
  std::string_view name;
  Figure figure;
  std::string_view rank_label;  // empty: the figure has no ranks
};

constexpr std::array kKnown = std::to_array<Known>({
    {"lastcall_rank_active_decode_blocks", Figure::blocks, "dp_rank"},
    {"lastcall_rank_kv_total_blocks", Figure::total, "dp_rank"},
    {"lastcall_rank_active_prefill_tokens", Figure::tokens, "dp_rank"},
    {"lastcall_requests_in_flight", Figure::in_flight, ""},
    {"vllm:kv_cache_usage_perc", Figure::usage, "engine"},
    {"vllm:num_requests_running", Figure::running, ""},
    {"vllm:num_requests_waiting", Figure::running, ""},
    {"sglang:token_usage", Figure::usage, "dp_rank"},
    {"sglang:num_running_reqs", Figure::running, ""},
    {"sglang:num_queue_reqs", Figure::running, ""},
    {"trtllm_kv_cache_utilization", Figure::usage, ""},
    {"trtllm_num_requests_running", Figure::running, ""},
    {"trtllm_num_requests_waiting", Figure::running, ""},
});

constexpr double kMostCount = 1e15;

/// 0 if the label is missing; nothing if its value is no number.
std::optional<std::uint32_t> rank_of(probes::SeriesLine const& series, std::string_view label) {
  auto const value = series.label(label);
  return value ? parse_number<std::uint32_t>(*value) : 0;
}

/// An information metric of vLLM; its value is always 1.
constexpr std::string_view kCacheProperties = "vllm:cache_config_info";

std::uint64_t whole(double figure) {
  return static_cast<std::uint64_t>(std::llround(std::min(figure, kMostCount)));
}

}  // namespace

void LoadText::take(std::string_view piece) {
  lines_.take(piece, [this](std::string_view line, bool is_cut) { take_line(line, is_cut); });
}

void LoadText::take_line(std::string_view line, bool is_too_long) {
  probes::SeriesLine const series = probes::series_line(line);
  if (is_too_long) {
    return;
  }
  if (series.name == kCacheProperties) {
    keeps_no_prompts_ = series.label("enable_prefix_caching") == "False";
    return;
  }
  auto const* known = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](Known const& each) { return each.name == series.name; });
  if (known == kKnown.end()) {
    return;
  }
  std::optional<std::uint32_t> const rank = rank_of(series, known->rank_label);
  std::optional<double> const figure = series.count();
  if (!rank || !figure) {
    return;
  }
  if (known->figure == Figure::in_flight || known->figure == Figure::running) {
    std::optional<double>& sum = known->figure == Figure::running ? running_ : in_flight_;
    sum = sum.value_or(0) + *figure;
    return;
  }
  auto& ranks = known->figure == Figure::usage ? gauges_ : by_lastcall_;
  if (ranks.size() >= kMostRanks && !ranks.contains(*rank)) {
    return;
  }
  RankLoad& load = ranks[*rank];
  load.rank = *rank;
  switch (known->figure) {
    case Figure::blocks:
      load.active_decode_blocks = whole(*figure);
      break;
    case Figure::total:
      load.kv_total_blocks = whole(*figure);
      break;
    case Figure::tokens:
      load.active_prefill_tokens = whole(*figure);
      break;
    case Figure::usage:
      load.kv_usage = std::max(load.kv_usage.value_or(0), std::min(*figure, 1.0));
      break;
    case Figure::in_flight:
    case Figure::running:
      break;
  }
}

ReportedLoad LoadText::finish() {
  lines_.finish([this](std::string_view line, bool is_cut) { take_line(line, is_cut); });
  ReportedLoad load;
  load.by_gauges = by_lastcall_.empty() && !gauges_.empty();
  for (auto const& [rank, figures] : load.by_gauges ? gauges_ : by_lastcall_) {
    load.ranks.push_back(figures);
  }
  std::optional<double> const requests = in_flight_ ? in_flight_ : running_;
  load.requests = requests ? std::optional(whole(*requests)) : std::nullopt;
  load.keeps_no_prompts = keeps_no_prompts_;
  *this = LoadText();
  return load;
}

}  // namespace lastcall::router
