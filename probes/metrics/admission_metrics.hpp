// The metrics of admission: its limits, who runs and waits, and the load that ranks report.
//
// Thread rule: see metrics.hpp. Source: Dynamo's metric names and labels; docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(MetricRegistry& registry);

  void set_requests(std::size_t running, std::size_t waiting);
  void set_limits(std::optional<std::uint32_t> running, std::uint32_t waiting);
  void waited(Seconds took);
  void set_busy(bool busy);
  /// The load that a data-parallel rank reports; a figure that it does not report, or no longer
  /// reports, is NaN.
  void set_rank_load(std::uint32_t rank, std::optional<std::uint64_t> active_decode_blocks,
                     std::optional<std::uint64_t> kv_total_blocks,
                     std::optional<std::uint64_t> active_prefill_tokens);

 private:
  LevelSeries& engine_request_;
  LevelSeries& request_queue_;
  GaugeSeries& limit_;
  HistogramSeries& wait_;
  GaugeSeries& busy_;
  GaugeSeries& frontend_decode_blocks_;
  GaugeSeries& frontend_prefill_tokens_;
  GaugeSeries& decode_blocks_;
  GaugeSeries& total_blocks_;
  GaugeSeries& prefill_tokens_;
};

}  // namespace lastcall::probes
