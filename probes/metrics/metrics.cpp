#include "probes/metrics/metrics.hpp"

#include "base/clock.hpp"

namespace lastcall::probes {

Metrics::Metrics(MetricIdentity const& identity)
    : registry_(identity),
      requests_(registry_, ComponentEndpoint(identity.endpoint)),
      cancels_(registry_, ComponentEndpoint(identity.endpoint)),
      lifecycle_(registry_),
      processes_(registry_),
      hooks_(registry_),
      engine_(registry_),
      admission_(registry_),
      ipc_(registry_),
      registries_(registry_),
      ingress_(registry_),
      supervisor_(registry_) {}

std::string Metrics::serialize() {
  auto const now = monotonic_ms();
  supervisor_.before_scrape(now);
  lifecycle_.before_scrape(now);
  return registry_.serialize();
}

}  // namespace lastcall::probes
