#include "supervisor/runtime/registries/sdk_registries.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::runtime {

std::unique_ptr<discovery::Registry> SdkRegistries::make(
    boost::asio::any_io_executor executor, discovery::IpcRegistry::AskAll ask,
    discovery::IpcRegistry::ExpectedUntil peers_expected_until) {
  auto made = std::make_unique<discovery::IpcRegistry>(std::move(executor), std::move(ask),
                                                       std::move(peers_expected_until));
  all_.push_back(made.get());
  return made;
}

std::optional<std::string> SdkRegistries::show_unnamed() {
  bool const was_hidden = unnamed_ && !std::exchange(unnamed_is_used_, true);
  return was_hidden ? unnamed_ : std::nullopt;
}

template <typename... Facts>
void SdkRegistries::tell(void (discovery::IpcRegistry::*call)(Facts...), Facts... facts) {
  for (discovery::IpcRegistry* const registry : all_) {
    (registry->*call)(facts...);
  }
}

void SdkRegistries::peer_joined(ipc::PeerId peer) {
  tell(&discovery::IpcRegistry::peer_joined, peer);
}

void SdkRegistries::peer_done(ipc::PeerId peer) {
  tell(&discovery::IpcRegistry::peer_done, peer);
}

void SdkRegistries::peer_gone(ipc::PeerId peer) {
  tell(&discovery::IpcRegistry::peer_gone, peer);
}

void SdkRegistries::peer_replaced(ipc::PeerId peer) {
  tell(&discovery::IpcRegistry::peer_replaced, peer);
}

void SdkRegistries::peers_may_be_back() {
  tell(&discovery::IpcRegistry::peers_may_be_back);
}

bool SdkRegistries::is_asking() const {
  return std::any_of(all_.begin(), all_.end(), [](discovery::IpcRegistry const* registry) {
    return registry->is_deregistering();
  });
}

}  // namespace lastcall::runtime
