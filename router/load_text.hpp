// Reads the load of each rank from a worker's Prometheus text.
//
// Rules:
//  1. lastcall's own figures of ranks (`lastcall_rank_*`) precede the gauges of an engine, which
//     report only a share of the KV cache.
//  2. An engine without a cache of prompts reports that (vLLM's `enable_prefix_caching`); without
//     such a report it may have one.
//  3. A figure that is not a count (NaN, negative, infinite) is not reported.
//  4. Memory is bounded: a line longer than kLongestLine is skipped, and so is a rank after the
//     first kMostRanks.
//
// Pure, no thread rule. Source: docs/metrics.md; the metrics of vLLM, SGLang and TensorRT-LLM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::router {

struct RankLoad {
  std::uint32_t rank = 0;
  std::optional<std::uint64_t> active_decode_blocks;
  std::optional<std::uint64_t> kv_total_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
  std::optional<double> kv_usage;  // 0 to 1, if blocks are not reported
};

struct ReportedLoad {
  std::vector<RankLoad> ranks;
  std::optional<std::uint64_t> requests;  // running and waiting there, from all of its clients
  bool by_gauges = false;                 // ranks are known only by the engine's gauges
  bool keeps_no_prompts = false;          // its engine computes each prompt from its start
};

class LoadText {
 public:
  static constexpr std::size_t kLongestLine = 16 * 1024;
  static constexpr std::size_t kMostRanks = 1'024;

  void take(std::string_view piece);
  /// The text has ended.
  ReportedLoad finish();

 private:
  void take_line(std::string_view line);

  std::string line_;  // the start of one whose end has not come
  bool is_too_long_ = false;
  std::map<std::uint32_t, RankLoad> by_lastcall_;  // by lastcall
  std::map<std::uint32_t, RankLoad> gauges_;       // by the engine
  std::optional<double> in_flight_;                // by lastcall
  std::optional<double> running_;                  // by the engine
  bool keeps_no_prompts_ = false;                  // by the engine
};

}  // namespace lastcall::router
