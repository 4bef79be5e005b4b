// The metrics of the IPC: who is connected, who was dropped, and errors of the protocol.
//
// Roles, reasons and codes are words of the IPC's closed sets.
//
// Thread rule: see metrics.hpp. Source: docs/ipc.md; docs/metrics.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class IpcMetrics {
 public:
  explicit IpcMetrics(MetricRegistry& registry);

  void set_peers(std::string_view role, std::size_t count);
  void peer_dropped(std::string_view reason);
  void error_sent(std::string_view code);

 private:
  GaugeSeries& peers_;
  CounterSeries& dropped_;
  CounterSeries& errors_;
};

}  // namespace lastcall::probes
