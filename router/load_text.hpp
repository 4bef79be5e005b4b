// Reads the load of each rank from a worker's Prometheus text.
//
// Rules:
//  1. lastcall's own figures of ranks (`lastcall_rank_*`) take precedence over the gauges of an
//     engine, which report only the used fraction of the KV cache.
//  2. An engine without a prompt cache reports that (vLLM's `enable_prefix_caching`); an engine
//     that does not report it may have one.
//  3. A figure that is not a valid count (NaN, negative, infinite) is ignored.
//  4. Memory is bounded: a line longer than TextLines::kLongestLine is skipped, and so is a rank
//     after the first kMostRanks.
//
// Pure, no thread rule. Source: docs/metrics.md; the metrics of vLLM, SGLang and TensorRT-LLM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "probes/checks/prometheus_text.hpp"

namespace lastcall::router {

struct RankLoad {
  std::uint32_t rank = 0;
  std::optional<std::uint64_t> active_decode_blocks;
  std::optional<std::uint64_t> kv_total_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
  std::optional<double> kv_usage;  // 0 to 1; used if blocks are not reported
};

struct ReportedLoad {
  std::vector<RankLoad> ranks;
  std::optional<std::uint64_t> requests;  // running and waiting there, of all its clients
  bool by_gauges = false;                 // the ranks are known only by the engine's gauges
  bool keeps_no_prompts = false;          // its engine computes each prompt from its start
};

class LoadText {
 public:
  static constexpr std::size_t kMostRanks = 1'024;

  void take(std::string_view piece);
  /// Must be called after the last piece of the text.
  ReportedLoad finish();

 private:
  void take_line(std::string_view line, bool is_too_long);

  probes::TextLines lines_;
  std::map<std::uint32_t, RankLoad> by_lastcall_;  // reported by lastcall
  std::map<std::uint32_t, RankLoad> gauges_;       // reported by the engine
  std::optional<double> in_flight_;                // reported by lastcall
  std::optional<double> running_;                  // reported by the engine
  bool keeps_no_prompts_ = false;                  // reported by the engine
};

}  // namespace lastcall::router
