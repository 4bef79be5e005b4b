// Counts peers and what they report: connections by role, restarts, signals, errors of the
// protocol. What the core orders is counted by metrics_feed.hpp.
//
// Rules:
//  1. A shim that passes on a state which a supervisor had given it to remember was connected to an
//     earlier supervisor, so this one has been restarted.
//  2. An engine counts as restarted if one has run before, in this life or an earlier one.
//
// Thread rule: the loop's thread. Source: docs/ipc.md.
#pragma once

#include <cstddef>
#include <string>

#include "ipc/server.hpp"
#include "probes/metrics/metrics.hpp"

namespace lastcall::runtime {

class PeerMetrics {
 public:
  explicit PeerMetrics(probes::Metrics& metrics) : metrics_(metrics) {}

  /// The peers that are connected now.
  void connected(bool has_shim, std::size_t engines, std::size_t operators);
  /// Called before the shim takes part; `known_boot` is the boot of the previous shim, empty if
  /// there was none.
  void shim_greets(std::string const& known_boot, ipc::ShimFacts const& shim);
  void shim_reports(ipc::ToSupervisor const& message);
  void error_sent(ipc::ErrorCode code);
  void dropped(ipc::Drop why);

 private:
  probes::Metrics& metrics_;
  bool engine_has_run_ = false;
};

}  // namespace lastcall::runtime
