// The metrics of the engine's health, its checks, and whether its own metrics can be had.
//
// Thread rule: as in metrics.hpp; set_metrics_up() belongs to the thread that serializes.
// Source: docs/metrics.md.
#pragma once

#include <string_view>

#include "core/action.hpp"
#include "core/vocabulary.hpp"
#include "probes/checks/check.hpp"
#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class EngineMetrics {
 public:
  explicit EngineMetrics(MetricRegistry& registry);

  void set_verdict(lifecycle::Verdict verdict);
  void check_ended(std::string_view check, CheckOutcome const& outcome);
  /// For a scrape that includes the engine's own metrics.
  void set_metrics_up(bool up);

 private:
  GaugeSeries& health_;
  CounterSeries& checks_;
  HistogramSeries& check_duration_;
  GaugeSeries& metrics_up_;
};

}  // namespace lastcall::probes
