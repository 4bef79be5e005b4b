#include "probes/metrics/registry_metrics.hpp"

#include <array>
#include <cstddef>

#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

namespace {

constexpr std::array<std::string_view, 2> kOperations{"register", "deregister"};

constexpr std::string_view word(RegistryOperation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}
static_assert(word(RegistryOperation::deregister) == "deregister");

}  // namespace

RegistryMetrics::RegistryMetrics(MetricRegistry& registry)
    : registered_(registry.gauge("lastcall_registry_registered", "registry",
                                 "1 while this instance is registered in the registry")),
      operations_(registry.counter("lastcall_registry_operations_total",
                                   "registry operation result",
                                   "Registrations and deregistrations by result")),
      duration_(registry.histogram("lastcall_registry_operation_duration_seconds",
                                   "registry operation",
                                   "How long registrations and deregistrations took")) {}

void RegistryMetrics::ended(std::string_view name, RegistryOperation operation, bool confirmed,
                            Seconds took) {
  operations_.at({name, word(operation), confirmed ? "confirmed" : "failed"}).Increment();
  duration_.at({name, word(operation)}, kFast).Observe(took.count());
}

void RegistryMetrics::retried(std::string_view name, RegistryOperation operation) {
  operations_.at({name, word(operation), "retried"}).Increment();
}

void RegistryMetrics::set_registered(std::string_view name, bool registered) {
  registered_.at({name}).Set(registered ? 1 : 0);
}

}  // namespace lastcall::probes
