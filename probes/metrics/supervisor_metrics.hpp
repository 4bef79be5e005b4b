// The metrics of the supervisor itself: its build, its age, and how its loop moves.
//
// Thread rule: as in metrics.hpp; before_scrape() belongs to the thread that serializes.
// Source: docs/metrics.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "probes/listener/probe_state.hpp"
#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class SupervisorMetrics {
 public:
  explicit SupervisorMetrics(MetricRegistry& registry);

  void slow_step(std::string_view event);
  /// `state` gives the age of the loop's heartbeat at a scrape; without it the family is absent.
  void watch_heartbeat(PublishedState const& state);

  /// Brings what depends on the time up to date.
  void before_scrape(std::int64_t now_ms);

 private:
  GaugeSeries& build_info_;
  GaugeSeries& component_uptime_;
  GaugeSeries& uptime_;
  GaugeSeries& heartbeat_age_;
  CounterSeries& slow_steps_;
  std::int64_t const started_ms_ = monotonic_ms();
  std::atomic<PublishedState const*> heartbeat_ = nullptr;  // the loop writes it, a scrape reads it
};

}  // namespace lastcall::probes
