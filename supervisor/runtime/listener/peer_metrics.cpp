#include "supervisor/runtime/listener/peer_metrics.hpp"

#include <utility>
#include <variant>

namespace lastcall::runtime {

void PeerMetrics::connected(bool has_shim, std::size_t engines, std::size_t operators) {
  metrics_.ipc().set_peers(name(ipc::Role::shim), has_shim ? 1 : 0);
  metrics_.ipc().set_peers(name(ipc::Role::engine), engines);
  metrics_.ipc().set_peers(name(ipc::Role::operator_), operators);
}

void PeerMetrics::shim_greets(std::string const& known_boot, ipc::ShimFacts const& shim) {
  bool const is_another_boot = !known_boot.empty() && known_boot != shim.boot;
  bool const we_came_back = known_boot.empty() && !shim.blob.empty();
  if (is_another_boot) {
    metrics_.processes().restarted(probes::Restarted::shim);
  }
  if (we_came_back) {
    metrics_.processes().restarted(probes::Restarted::supervisor);
  }
  engine_has_run_ = engine_has_run_ || shim.engine.state != ipc::EngineState::waiting;
}

void PeerMetrics::shim_reports(ipc::ToSupervisor const& message) {
  if (auto const* signal = std::get_if<ipc::Signal>(&message)) {
    metrics_.processes().signal_received(signal->name);
  } else if (auto const* exited = std::get_if<ipc::EngineExited>(&message)) {
    metrics_.processes().oom_killed(exited->oom ? 1 : 0);
  } else if (std::holds_alternative<ipc::EngineStarted>(message) &&
             std::exchange(engine_has_run_, true)) {
    metrics_.processes().restarted(probes::Restarted::engine);
  }
}

void PeerMetrics::error_sent(ipc::ErrorCode code) {
  metrics_.ipc().error_sent(ipc::name(code));
}

void PeerMetrics::dropped(ipc::Drop why) {
  metrics_.ipc().peer_dropped(ipc::name(why));
}

}  // namespace lastcall::runtime
