// The registries that SDKs serve: what their processes are ordered to do, and what they have done.
//
// Rules:
//  1. Every registry of kind `ipc` hears of every process. Which processes are asked is the
//     registry's own: those that registered by themselves, or all if the configuration names one.
//  2. The one that the configuration does not name is hidden until an SDK uses it.
//
// Thread rule: the loop's thread. Source: specification, 'Discovery'.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/ipc_registry.hpp"
#include "discovery/registry.hpp"
#include "ipc/server.hpp"

namespace lastcall::runtime {

class SdkRegistries {
 public:
  /// Another one, which asks by means of `ask`.
  std::unique_ptr<discovery::Registry> make(
      boost::asio::any_io_executor executor, discovery::IpcRegistry::AskAll ask,
      discovery::IpcRegistry::ExpectedUntil peers_expected_until);

  /// The configuration names no registry for SDKs: the one of this name is for them.
  void set_unnamed(std::string name) { unnamed_ = std::move(name); }
  /// Called when an SDK's process has registered by its own means. Returns the name of the registry
  /// that is no longer hidden, if it was until now.
  std::optional<std::string> show_unnamed();
  bool is_hidden(std::string_view name) const { return !unnamed_is_used_ && unnamed_ == name; }
  /// Whether the configuration orders every SDK's process to deregister.
  bool asks_every_sdk() const { return !unnamed_; }

  void peer_joined(ipc::PeerId peer);
  void peer_done(ipc::PeerId peer);
  void peer_gone(ipc::PeerId peer);
  void peer_replaced(ipc::PeerId peer);
  void peers_may_be_back();
  /// Whether SDKs have been ordered to deregister and not all of them have answered yet.
  bool is_asking() const;

 private:
  template <typename... Facts>
  void tell(void (discovery::IpcRegistry::*call)(Facts...), Facts... facts);

  std::vector<discovery::IpcRegistry*> all_;  // whoever got them from make() owns them
  std::optional<std::string> unnamed_;
  bool unnamed_is_used_ = false;
};

}  // namespace lastcall::runtime
