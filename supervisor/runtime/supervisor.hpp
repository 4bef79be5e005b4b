// The supervisor owns every part of the shell, routes events to the core, and carries out the
// core's orders.
//
// Invariants:
//  1. One thread decides. Everything here runs on it. The probe listener reads a published state;
//     workers and the threads of the ingress pass their results to it.
//  2. The order of the core's actions is the order of their effects. What must outlive this process
//     is provided for first (StopMemory). An order to signal the engine is obeyed before it is
//     counted.
//  3. It ends once (loop/ending.hpp), and the probe listener closes last.
//
// Thread rule: the loop's thread. Source: specification, 'Processes';
// specification, 'Architecture'.
#pragma once

#include <string>

#include "core/lifecycle.hpp"
#include "supervisor/runtime/cleanup/cleanup_items.hpp"
#include "supervisor/runtime/engine/engine_watch.hpp"
#include "supervisor/runtime/ingress/ingress_session.hpp"
#include "supervisor/runtime/listener/hook_calls.hpp"
#include "supervisor/runtime/listener/probe_publisher.hpp"
#include "supervisor/runtime/listener/status.hpp"
#include "supervisor/runtime/live_settings.hpp"
#include "supervisor/runtime/loop/core_loop.hpp"
#include "supervisor/runtime/loop/ending.hpp"
#include "supervisor/runtime/loop/once_per_turn.hpp"
#include "supervisor/runtime/loop/own_signals.hpp"
#include "supervisor/runtime/peer_sessions.hpp"
#include "supervisor/runtime/registration.hpp"
#include "supervisor/runtime/report_publisher.hpp"
#include "supervisor/runtime/request_orders.hpp"
#include "supervisor/runtime/serve.hpp"
#include "supervisor/runtime/sessions/shim_watch.hpp"
#include "supervisor/runtime/step_records.hpp"
#include "supervisor/runtime/stop_memory.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class Supervisor {
 public:
  Supervisor(boost::asio::io_context& io, config::Config const& config, ServeOptions const& options,
             telemetry::Log& log);

  /// Returns the reason why it cannot run with this configuration; empty if it can.
  std::string problem() const;
  /// Listens, and notifies the core of the start. Returns an empty text, or the reason why it
  /// cannot listen.
  std::string start();
  /// Valid once the io_context has stopped.
  int exit_code() const { return ending_.exit_code(); }

 private:
  void obey(lifecycle::Instant now, lifecycle::Action const& action);
  void rearm();
  void end(int code);
  void refresh();

  telemetry::Log& log_;
  OncePerTurn refresh_;  // requested when what is shown has changed
  lifecycle::Lifecycle core_;
  CoreLoop loop_;
  LiveSettings settings_;
  ProbePublisher probes_;
  StepRecords records_;
  PeerSessions peers_;
  StopMemory memory_;
  ReportPublisher report_;
  ShimWatch shim_watch_;
  IngressSession ingress_;
  RequestOrders requests_;
  EngineWatch engine_;
  Registration registration_;
  CleanupItems cleanup_;
  HookCalls hook_calls_;
  OwnSignals signals_;
  StatusSources shown_;  // the facts of what is shown, and the addresses once it listens
  Ending ending_;
};

}  // namespace lastcall::runtime
