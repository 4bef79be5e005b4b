// preStop mode: hook calls, over HTTP or the engine's Unix socket, are held until the core releases
// them; and the watch for a replacement of the engine.
//
// Rules:
//  1. A call of the engine's hook becomes an event and waits; ReleaseHook answers all waiting
//     calls. A caller that disconnects undoes nothing.
//  2. The supervisor's hook is answered when its event has been processed.
//  3. It is off unless `lifecycle.enabled` is set; it has no listener and no thread unless
//     `lifecycle.http` is set, too.
//
// Thread rule: the loop's thread, except for the listener's own, which only posts to it.
// Source: specification, 'preStop'.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/action.hpp"
#include "ipc/server.hpp"
#include "probes/checks/replacement_watch.hpp"
#include "probes/listener/hook_routes.hpp"
#include "probes/listener/listener.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"
#include "telemetry/refused_calls.hpp"

namespace lastcall::runtime {

class HookCalls {
 public:
  /// Answers a call with the reason of its release and the time for which it was held.
  using Return = std::function<void(std::string_view why, lifecycle::Duration held)>;

  HookCalls(boost::asio::any_io_executor executor, config::Config const& config, EventSink& events,
            probes::Metrics& metrics, telemetry::Log& log);
  ~HookCalls();

  /// Returns the reason why it cannot listen; empty if it listens or is off.
  std::string start();
  void stop();
  /// Empty if it is off.
  std::string address() const { return listener_ ? listener_->address() : std::string(); }

  /// `caller` is for the log.
  void called(probes::Hook hook, std::string const& caller, Return answer);
  /// Handles a call of a hook of kind exec, which arrives on the socket.
  void called(ipc::Server& server, ipc::PeerId peer, ipc::Prestop const& call, ipc::Seq seq);
  void release(lifecycle::ReleaseHook const& order);
  void await(lifecycle::AwaitReplacement const& order);
  void replacement_ended();
  void disproved();

 private:
  void replaced(std::string how);

  boost::asio::any_io_executor executor_;
  EventSink& events_;
  probes::Metrics& metrics_;
  telemetry::Log& log_;
  telemetry::RefusedCalls refused_;
  bool const takes_calls_;
  std::string first_caller_;  // first caller since the last replacement or disproved deletion
  std::unique_ptr<probes::HttpListener> listener_;
  std::unique_ptr<probes::ReplacementWatch> watch_;  // null if the engine's address is not known
  std::vector<Return> waiting_;
  bool engine_is_condemned_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // posted calls may arrive too late
};

}  // namespace lastcall::runtime
