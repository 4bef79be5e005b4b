#include "router/load_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

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

/// Reads the rank from `labels`, the text between the braces; 0 if the label is missing.
std::optional<std::uint32_t> rank_in(std::string_view labels, std::string_view name) {
  std::string const key = std::string(name) + "=\"";
  std::size_t at = name.empty() ? std::string_view::npos : labels.find(key);
  while (at != std::string_view::npos && at > 0 && labels[at - 1] != ',' && labels[at - 1] != ' ') {
    at = labels.find(key, at + 1);  // it was the end of another label's name
  }
  if (at == std::string_view::npos) {
    return 0;
  }
  std::string_view const value = labels.substr(at + key.size());
  std::uint32_t rank = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), rank);
  bool const is_number = error == std::errc{} && end != value.data() + value.size() && *end == '"';
  return is_number ? std::optional(rank) : std::nullopt;
}

/// An information metric of vLLM; its value is always 1.
constexpr std::string_view kCacheProperties = "vllm:cache_config_info";
constexpr std::string_view kNoCache = "enable_prefix_caching=\"False\"";

std::optional<double> figure_in(std::string_view text) {
  std::size_t const begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(begin);
  double figure = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), figure);
  bool const is_count = error == std::errc{} && std::isfinite(figure) && figure >= 0;
  return is_count ? std::optional(std::min(figure, kMostCount)) : std::nullopt;
}

std::uint64_t whole(double figure) {
  return static_cast<std::uint64_t>(std::llround(figure));
}

}  // namespace

void LoadText::take(std::string_view piece) {
  while (!piece.empty()) {
    std::size_t const end = piece.find('\n');
    std::string_view const part = piece.substr(0, end);
    if (line_.size() + part.size() > kLongestLine) {
      is_too_long_ = true;
      line_.clear();
    }
    bool const is_whole = end != std::string_view::npos;
    if (is_whole && !is_too_long_) {
      take_line(line_.empty() ? part : line_.append(part));
    } else if (!is_too_long_) {
      line_.append(part);
    }
    if (is_whole) {
      line_.clear();
      is_too_long_ = false;
    }
    piece = is_whole ? piece.substr(end + 1) : std::string_view();
  }
}

void LoadText::take_line(std::string_view line) {
  std::size_t const name_end = line.find_first_of("{ \t");
  if (name_end == std::string_view::npos || line.front() == '#') {
    return;
  }
  if (line.substr(0, name_end) == kCacheProperties) {
    keeps_no_prompts_ = line.find(kNoCache) != std::string_view::npos;
    return;
  }
  auto const* known = std::find_if(kKnown.begin(), kKnown.end(), [&](Known const& each) {
    return each.name == line.substr(0, name_end);
  });
  if (known == kKnown.end()) {
    return;
  }
  std::size_t const close = line[name_end] == '{' ? line.rfind('}') : name_end - 1;
  if (close == std::string_view::npos) {
    return;
  }
  std::string_view const labels =
      line[name_end] == '{' ? line.substr(name_end + 1, close - name_end - 1) : std::string_view();
  std::optional<std::uint32_t> const rank = rank_in(labels, known->rank_label);
  std::optional<double> const figure = figure_in(line.substr(close + 1));
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
  if (!line_.empty() && !is_too_long_) {
    take_line(line_);
  }
  ReportedLoad load;
  load.by_gauges = by_lastcall_.empty() && !gauges_.empty();
  for (auto const& [rank, figures] : load.by_gauges ? gauges_ : by_lastcall_) {
    load.ranks.push_back(figures);
  }
  std::optional<double> const requests = in_flight_ ? in_flight_ : running_;
  load.requests = requests ? std::optional(whole(std::min(*requests, kMostCount))) : std::nullopt;
  load.keeps_no_prompts = keeps_no_prompts_;
  *this = LoadText();
  return load;
}

}  // namespace lastcall::router
