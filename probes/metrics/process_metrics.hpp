// The metrics of processes: signals to them, and their ends and new beginnings.
//
// Thread rule: see metrics.hpp. Source: docs/metrics.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

enum class Restarted : std::uint8_t { engine, supervisor, shim };

class ProcessMetrics {
 public:
  explicit ProcessMetrics(MetricRegistry& registry);

  void signal_received(std::string_view signal);  // "TERM"
  void restarted(Restarted what);
  void oom_killed(std::uint64_t count);

 private:
  CounterSeries& signals_;
  CounterSeries& restarts_;
  CounterSeries& oom_kills_;
};

}  // namespace lastcall::probes
