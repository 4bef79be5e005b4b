#include "supervisor/runtime/engine/ipc_health.hpp"

#include <utility>

namespace lastcall::runtime {

using probes::CheckResult;

std::unique_ptr<probes::Check> IpcHealth::make_check(boost::asio::any_io_executor executor,
                                                     std::size_t index) {
  auto made = std::make_unique<probes::AskedCheck>(std::move(executor), [this] { return ask(); });
  check_ = made.get();
  index_ = index;
  return made;
}

std::string IpcHealth::ask() {
  std::vector<ipc::PeerId> const peers = ask_all_();
  awaited_ = {peers.begin(), peers.end()};
  is_busy_ = any_answered_ = false;
  return peers.empty() ? "no SDK is connected" : "";
}

bool IpcHealth::answered(ipc::PeerId peer, ipc::Health const& health) {
  if (awaited_.erase(peer) == 0) {
    return true;
  }
  any_answered_ = true;
  switch (health.status) {
    case ipc::HealthStatus::dead:
      awaited_.clear();
      check_->answered({.result = CheckResult::failed_definite,
                        .detail = "the SDK reports dead: " + health.detail});
      return false;
    case ipc::HealthStatus::busy:
      is_busy_ = true;
      busy_detail_ = health.detail;
      break;
    case ipc::HealthStatus::healthy:
      break;
  }
  settle_if_complete();
  return false;
}

void IpcHealth::left(ipc::PeerId peer) {
  if (awaited_.erase(peer) > 0) {
    settle_if_complete();
  }
}

void IpcHealth::settle_if_complete() {
  if (!awaited_.empty()) {
    return;
  }
  if (any_answered_) {
    check_->answered(
        {.result = CheckResult::passed, .detail = is_busy_ ? "busy: " + busy_detail_ : ""});
  } else {
    check_->answered({.result = CheckResult::failed_unclear,
                      .detail = "every SDK disconnected without an "
                                "answer"});
  }
}

}  // namespace lastcall::runtime
