// Handles load on the router's thread: sends load questions to workers, and passes changed
// thresholds to the fleet.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Load' and 'Rejection'.
#pragma once

#include <memory>

#include "probes/listener/busy_threshold.hpp"
#include "router/parts.hpp"
#include "router/worker_loads.hpp"

namespace lastcall::router {

class LoadControl {
 public:
  /// Both outlive this.
  LoadControl(boost::asio::io_context& io, Parts& parts);

  /// Must be called when the configuration was read or has changed.
  void configure();
  void came(std::shared_ptr<Worker> const& worker);
  void left(Worker const& worker);
  /// Answers a call of `/busy_threshold`.
  probes::Reply answer(probes::ThresholdCall const& call);

 private:
  void reported(Worker& worker, ReportedLoad const& load);
  void limit_all();

  Parts& parts_;
  WorkerLoads loads_;
};

}  // namespace lastcall::router
