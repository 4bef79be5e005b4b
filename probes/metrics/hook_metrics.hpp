// The metrics of preStop calls, and of calls of our listeners that were refused.
//
// Thread rule: see metrics.hpp. Source: specification, 'preStop'; docs/metrics.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class HookMetrics {
 public:
  explicit HookMetrics(MetricRegistry& registry);

  /// A preStop call, for the engine's container or for our own.
  void called(bool engine);
  /// `path` is a path of the probe port; it is empty for a call to the preStop listener.
  void call_refused(std::string_view path);
  /// A hook was called, but the pod lived on.
  void disproved();
  void set_waiting(std::size_t count);
  void released(Seconds held);
  void set_engine_awaited(bool awaited);

 private:
  CounterSeries& calls_;
  CounterSeries& refused_hooks_;
  CounterSeries& refused_calls_;
  CounterSeries& disproved_;
  GaugeSeries& waiting_;
  HistogramSeries& held_;
  GaugeSeries& engine_awaited_;
};

}  // namespace lastcall::probes
