// preStop mode: the calls of hooks, over HTTP or the engine's Unix socket, held until the core
// releases them, and the watch for another engine.
//
// Rules:
//  1. A call of the engine's hook becomes an event and waits; ReleaseHook answers all that wait.
//     The end of a caller undoes nothing.
//  2. The supervisor's hook is answered when its event has been stepped.
//  3. Off unless `lifecycle.enabled`; no listener and no thread unless `lifecycle.http`, too.
//
// Thread rule: the loop's thread, but for the listener's own, which only posts to it.
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
  /// Answers a call with the reason of its return and how long it was held.
  using Return = std::function<void(std::string_view why, lifecycle::Duration held)>;

  HookCalls(boost::asio::any_io_executor executor, config::Config const& config, EventSink& events,
            probes::Metrics& metrics, Log& log);
  ~HookCalls();

  /// Empty if it answers or is off; else the reason why it cannot listen.
  std::string start();
  void stop();
  /// Empty while it is off.
  std::string address() const { return listener_ ? listener_->address() : std::string(); }

  bool takes_calls() const { return takes_calls_; }
  /// `caller`: for the log.
  void called(probes::Hook hook, std::string const& caller, Return answer);
  void release(lifecycle::ReleaseHook const& order);
  void await(lifecycle::AwaitReplacement const& order);
  void replacement_ended();
  void disproved();

 private:
  void replaced(std::string how);

  boost::asio::any_io_executor executor_;
  EventSink& events_;
  probes::Metrics& metrics_;
  Log& log_;
  RefusedCalls refused_;
  bool const takes_calls_;
  std::string first_caller_;  // since no end was known
  std::unique_ptr<probes::HttpListener> listener_;
  std::unique_ptr<probes::ReplacementWatch> watch_;  // empty: the engine's address is not known
  std::vector<Return> waiting_;
  bool engine_is_condemned_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // as posted calls may come too late
};

}  // namespace lastcall::runtime
