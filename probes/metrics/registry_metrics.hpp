// The metrics of the discovery registries: whether we are registered, and how operations end.
//
// Thread rule: see metrics.hpp. Source: docs/metrics.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

enum class RegistryOperation : std::uint8_t { register_, deregister };

class RegistryMetrics {
 public:
  explicit RegistryMetrics(MetricRegistry& registry);

  void ended(std::string_view name, RegistryOperation operation, bool confirmed, Seconds took);
  /// An attempt failed or an entry was lost, and the operation is tried again.
  void retried(std::string_view name, RegistryOperation operation);
  void set_registered(std::string_view name, bool registered);

 private:
  GaugeSeries& registered_;
  CounterSeries& operations_;
  HistogramSeries& duration_;
};

}  // namespace lastcall::probes
