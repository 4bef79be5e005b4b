// The metrics of the lifecycle: phases, readiness, and stops with their deadline.
//
// Invariant: lastcall_stop_deadline_left_seconds exists only while a stop has a deadline.
//
// Thread rule: as in metrics.hpp; before_scrape() belongs to the thread that serializes.
// Source: docs/metrics.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/action.hpp"
#include "core/vocabulary.hpp"
#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class LifecycleMetrics {
 public:
  explicit LifecycleMetrics(MetricRegistry& registry);

  void set_phase(lifecycle::Phase phase);
  void phase_ended(lifecycle::Phase phase, lifecycle::PhaseOutcome outcome, Seconds took);
  void set_grace(Seconds grace);
  void set_ready(bool ready);
  void set_shim_missing(bool missing);
  void set_stop_deadline(std::optional<std::int64_t> deadline_ms);  // CLOCK_MONOTONIC
  void stop_began(bool fatal);
  void signal_ignored(std::string_view signal);

  /// Brings what depends on the time up to date.
  void before_scrape(std::int64_t now_ms);

 private:
  /// The value that means that no stop has a deadline.
  static constexpr std::int64_t kNoDeadline = -1;

  GaugeSeries& phase_;
  HistogramSeries& phase_duration_;
  GaugeSeries& grace_;
  GaugeSeries& ready_;
  GaugeSeries& shim_missing_;
  CounterSeries& stops_;
  GaugeSeries& deadline_left_;
  CounterSeries& signals_ignored_;
  bool shows_deadline_ = false;                          // only before_scrape() uses it
  std::atomic<std::int64_t> deadline_ms_ = kNoDeadline;  // the loop writes it, a scrape reads it
};

}  // namespace lastcall::probes
