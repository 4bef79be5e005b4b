// The configured registries, as one object that carries out the core's orders.
//
// Rules:
//  1. The index of a registry is its position in `discovery:`, as in the core's settings. If none
//     of them is of kind `ipc`, there is one more at the end, for SDKs that report `registered`;
//     it is reported only once it is used (sdk_registries.hpp).
//  2. The result of each registry that has deregistered or failed is reported to the core at once,
//     and the phase ends with the last one.
//
// Thread rule: the loop's thread. Source: specification, 'Discovery'.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "discovery/instance.hpp"
#include "discovery/ipc_registry.hpp"
#include "discovery/registry_set.hpp"
#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/registries/registry_factory.hpp"
#include "supervisor/runtime/registries/sdk_registries.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class Registries {
 public:
  struct Callbacks {
    /// Sends `deregister` to every SDK peer.
    discovery::IpcRegistry::AskAll ask_peers;
    /// Sends `deregister` to the SDK peers that reported `registered`.
    discovery::IpcRegistry::AskAll ask_self_registering;
    discovery::IpcRegistry::ExpectedUntil peers_expected_until;
    std::function<void(discovery::RegistryStatus const&)> on_change;
    RegistryHooks hooks;
  };

  Registries(boost::asio::any_io_executor executor, config::Config const& config,
             std::optional<std::string> const& advertise, EventSink& events, telemetry::Log& log,
             Callbacks const& callbacks);

  /// Names the registry that could not be made, and the reason; empty if there is none.
  std::string const& problem() const { return problem_; }

  void register_all();
  /// `returns` means that this is temporary, so registries that could not register again are left
  /// out.
  void deregister(lifecycle::Instant deadline, bool returns);
  /// Waits for pending removals first, but only until the deadline.
  void disconnect(lifecycle::Instant deadline, CleanupHooks::Done done);

  /// Sends the text to each place where people look for this instance.
  void warn(std::string const& reason, std::string const& text);

  void note(std::string const& text) { set_.note(text); }
  /// Called when an SDK's process has registered by its own means: it is ordered to deregister.
  void note_self_registering();
  SdkRegistries& sdks() { return sdks_; }

  // The result lacks the registry for SDKs if no SDK uses it.
  std::vector<discovery::RegistryStatus> status() const;
  std::vector<std::string> names() const;
  /// Whether every registry has contained this instance at some time since begin_life().
  bool were_all_registered() const;
  /// Called when another engine begins.
  void begin_life() { awaited_ = names_; }

 private:
  void disconnect_now(lifecycle::Instant deadline, CleanupHooks::Done done);
  void add(config::Registry const& registry, discovery::Instance const& instance,
           Callbacks const& callbacks);
  void changed(discovery::RegistryStatus const& status);
  void note_registered(discovery::RegistryStatus const& status);
  void report(discovery::RegistryStatus const& status);
  void settle(discovery::RegistryStatus const& status);

  boost::asio::any_io_executor executor_;
  EventSink& events_;
  telemetry::Log& log_;
  std::function<void(discovery::RegistryStatus const&)> on_change_;
  std::vector<std::string> names_;
  std::vector<std::string> awaited_;         // registries without a registration in this life
  std::vector<discovery::Registry*> named_;  // the set owns them
  SdkRegistries sdks_;                       // the set owns what it makes
  std::string problem_;
  discovery::RegistrySet set_;
};

}  // namespace lastcall::runtime
