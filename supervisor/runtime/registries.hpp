// The configured registries, as one thing that the core can order about.
//
// Rules:
//  1. The index of a registry is its place in `discovery:`, as in the core's settings.
//  2. Each one that has deregistered, or was given up, is told to the core at once: the phase ends
//     with the last one.
//
// Thread rule: the loop's thread. Source: the discovery rules of the design.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/instance.hpp"
#include "discovery/ipc_registry.hpp"
#include "discovery/registry_set.hpp"
#include "ipc/server.hpp"
#include "supervisor/config/schema.hpp"
#include "supervisor/runtime/cleanup_hooks.hpp"
#include "supervisor/runtime/event_sink.hpp"
#include "supervisor/runtime/log.hpp"
#include "supervisor/runtime/registry_factory.hpp"

namespace lastcall::runtime {

class Registries {
 public:
  struct Callbacks {
    discovery::IpcRegistry::AskAll ask_peers;  // sends `deregister`
    discovery::IpcRegistry::ExpectedUntil peers_expected_until;
    std::function<void(discovery::RegistryStatus const&)> on_change;
    RegistryHooks hooks;
  };

  Registries(boost::asio::any_io_executor executor, config::Config const& config,
             std::optional<std::string> const& advertise, EventSink& events, Log& log,
             Callbacks const& callbacks);

  /// Empty: all could be made. Otherwise which one could not, and why.
  std::string const& problem() const { return problem_; }

  void register_all();
  void deregister(lifecycle::Instant deadline);
  /// Waits for removals under way first, inside the deadline.
  void disconnect(lifecycle::Instant deadline, CleanupHooks::Done done);

  /// An SDK's process has registered itself: it has to be asked to deregister.
  bool asks_sdks() const { return !sdk_.empty(); }
  void peer_joined(ipc::PeerId peer);
  void peer_done(ipc::PeerId peer);
  void peer_gone(ipc::PeerId peer);
  void peer_replaced(ipc::PeerId peer);
  void peers_may_be_back();
  /// SDKs have been asked to deregister, and not all have answered yet.
  bool is_asking_sdks() const;

  std::vector<discovery::RegistryStatus> status() const { return set_.status(); }
  std::vector<std::string> const& names() const { return names_; }
  /// Every registry has this instance.
  bool all_registered() const;

 private:
  void disconnect_now(lifecycle::Instant deadline, CleanupHooks::Done done);
  void add(config::Registry const& registry, discovery::Instance const& instance,
           Callbacks const& callbacks);
  void changed(discovery::RegistryStatus const& status);
  void settle(discovery::RegistryStatus const& status);

  boost::asio::any_io_executor executor_;
  EventSink& events_;
  Log& log_;
  std::function<void(discovery::RegistryStatus const&)> on_change_;
  std::vector<std::string> names_;
  std::vector<discovery::IpcRegistry*> sdk_;  // owned by the set
  std::string problem_;
  discovery::RegistrySet set_;
};

}  // namespace lastcall::runtime
