#include "probes/metrics/ipc_metrics.hpp"

#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

IpcMetrics::IpcMetrics(MetricRegistry& registry)
    : peers_(registry.gauge("lastcall_ipc_peers", "role", "Peers connected to the IPC sockets")),
      dropped_(registry.counter("lastcall_ipc_peers_dropped_total", "reason",
                                "Peers whose connection the supervisor closed")),
      errors_(registry.counter("lastcall_ipc_errors_total", "code", "Error lines sent to peers")) {}

void IpcMetrics::set_peers(std::string_view role, std::size_t count) {
  peers_.at({role}).Set(static_cast<double>(count));
}

void IpcMetrics::peer_dropped(std::string_view reason) {
  dropped_.at({reason}).Increment();
}

void IpcMetrics::error_sent(std::string_view code) {
  errors_.at({code}).Increment();
}

}  // namespace lastcall::probes
