// The supervisor's counts of its peers; its counts of the core's orders are in metrics_feed.
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::error_sent(ipc::ErrorCode code) {
  probes_.metrics().protocol_error(ipc::name(code));
}

void Supervisor::peer_dropped(ipc::Drop why) {
  probes_.metrics().peer_dropped(ipc::name(why));
}

void Supervisor::count_peers() {
  probes_.metrics().set_peers(name(ipc::Role::shim), shim_.is_connected() ? 1 : 0);
  probes_.metrics().set_peers(name(ipc::Role::engine), sdks_.connected().size());
  probes_.metrics().set_peers(name(ipc::Role::operator_), operators_.count());
}

/// A shim that passes on a state which a supervisor had given it to remember was connected to an
/// earlier supervisor.
void Supervisor::count_restarts(ipc::ShimFacts const& shim) {
  bool const is_another_boot = !shim_.boot().empty() && shim_.boot() != shim.boot;
  bool const we_came_back = shim_.boot().empty() && !shim.blob.empty();
  if (is_another_boot) {
    probes_.metrics().restarted(probes::Restarted::shim);
  }
  if (we_came_back) {
    probes_.metrics().restarted(probes::Restarted::supervisor);
  }
  engine_has_run_ = engine_has_run_ || shim.engine.state != ipc::EngineState::waiting;
}

}  // namespace lastcall::runtime
