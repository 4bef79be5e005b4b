// This instance in its registries, and the engine's SDKs that register themselves.
//
// Rules:
//  1. An SDK's process that registers itself, or every one if the configuration says so, is ordered
//     to deregister when this instance leaves. One that joins later is asked then: a question to
//     one connection may have been lost with it or with an earlier supervisor, and asking again
//     does no harm.
//  2. A connection that its process has replaced owes no answer.
//
// Thread rule: the loop's thread. Source: specification, 'Discovery'.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/registries/registries.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class Registration {
 public:
  /// `changed` is called when the state of a registry has changed.
  Registration(boost::asio::any_io_executor const& executor, config::Config const& config,
               std::optional<std::string> const& advertise, lifecycle::Lifecycle const& core,
               EventSink& events, ipc::Server& server, SdkSessions& sdks, probes::Metrics& metrics,
               telemetry::Log& log, std::function<void()> changed);

  /// Names the registry that could not be made, and the reason; empty if there is none.
  std::string const& problem() const { return registries_.problem(); }
  Registries& registries() { return registries_; }

  void sdk_joined(ipc::PeerId peer);
  /// The SDK registers by its own means.
  void sdk_registered(ipc::PeerId peer);
  /// A connection of an SDK has ended, or one was replaced.
  void drop_replaced_debts();

 private:
  Registries::Callbacks callbacks();
  RegistryHooks hooks();
  void ask_if_leaving(ipc::PeerId peer);

  lifecycle::Lifecycle const& core_;
  EventSink& events_;
  ipc::Server& server_;
  SdkSessions& sdks_;
  probes::Metrics& metrics_;
  telemetry::Log& log_;
  std::function<void()> const changed_;
  Registries registries_;
};

}  // namespace lastcall::runtime
