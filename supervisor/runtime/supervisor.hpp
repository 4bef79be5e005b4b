// The supervisor owns every part of the shell, routes events to the core, and carries out the
// core's orders.
//
// Invariants:
//  1. One thread decides. Everything here runs on it. The probe listener reads a published state;
//     workers and the threads of the ingress pass their results to it.
//  2. The order of the core's actions is the order of their effects. What must outlive this process
//     is provided for first (StopMemory). An order to signal the engine is obeyed before it is
//     counted.
//  3. It ends once: sockets are flushed and closed within kFlushWait, and the probe listener closes
//     last. If it reported 137, it first waits equally long for the shim to correct it.
//
// Thread rule: the loop's thread. Source: specification, 'Processes';
// specification, 'Architecture'.
#pragma once

#include <memory>
#include <string>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/cleanup/cleanup_items.hpp"
#include "supervisor/runtime/engine/engine_watch.hpp"
#include "supervisor/runtime/engine/orphaned_engine.hpp"
#include "supervisor/runtime/ingress/ingress_session.hpp"
#include "supervisor/runtime/listener/hook_calls.hpp"
#include "supervisor/runtime/listener/probe_publisher.hpp"
#include "supervisor/runtime/listener/status.hpp"
#include "supervisor/runtime/live_settings.hpp"
#include "supervisor/runtime/loop/core_loop.hpp"
#include "supervisor/runtime/loop/own_signals.hpp"
#include "supervisor/runtime/registries/registries.hpp"
#include "supervisor/runtime/report_publisher.hpp"
#include "supervisor/runtime/request_orders.hpp"
#include "supervisor/runtime/serve.hpp"
#include "supervisor/runtime/sessions/gone_peers.hpp"
#include "supervisor/runtime/sessions/operator_sessions.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "supervisor/runtime/sessions/shim_watch.hpp"
#include "supervisor/runtime/step_records.hpp"
#include "supervisor/runtime/stop_memory.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

inline constexpr lifecycle::Duration kFlushWait{200};

class Supervisor final : private ipc::Observer {
 public:
  Supervisor(boost::asio::io_context& io, config::Config const& config, ServeOptions const& options,
             Log& log);
  ~Supervisor() override;

  /// Returns the reason why it cannot run with this configuration; empty if it can.
  std::string problem() const;
  /// Listens, and notifies the core of the start. Returns an empty text, or the reason why it
  /// cannot listen.
  std::string start();
  /// Valid once the io_context has stopped.
  int exit_code() const { return exit_code_; }

 private:
  // ipc::Observer
  void hello(ipc::PeerId peer, ipc::Hello&& hello) override;
  void message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) override;
  void disconnected(ipc::PeerId peer, std::string_view why) override;
  void process_gone(ipc::PeerId peer) override;
  std::size_t next_cancels(ipc::PeerId peer, ipc::CancelBatch& batch) override;
  void trouble(std::string_view what) override;
  void error_sent(ipc::ErrorCode code) override;
  void peer_dropped(ipc::Drop why) override;

  // Orders (supervisor_obey.cpp).
  void obey(lifecycle::Instant now, lifecycle::Action const& action);
  void signal_engine(lifecycle::SignalEngine const& order);
  void deletion_disproved();
  void prestop(ipc::PeerId peer, ipc::Prestop const& call, ipc::Seq seq);
  void announce(lifecycle::AnnouncePhase const& order);
  void rearm();

  // The end.
  void end(int code);
  void wait_for_flush(lifecycle::Instant limit);

  EngineWatch::Callbacks engine_callbacks();
  Registries::Callbacks registry_callbacks();
  CleanupItems::Others other_items();
  SdkSessions::Listeners sdk_listeners();
  void ask_if_leaving(ipc::PeerId peer);
  void drop_replaced_debts();
  IngressReports::Listeners ingress_listeners();
  OperatorSessions::Answers operator_answers();
  ShimWatch::Callbacks shim_watch_callbacks();
  StatusSources sources();
  Readiness readiness() const;
  std::vector<ipc::PeerId> ask_sdks(ipc::FromSupervisor const& question);
  void own_signal(std::string const& name);
  void registry_changed(discovery::RegistryStatus const& status);
  void count_peers();
  void count_restarts(ipc::ShimFacts const& shim);
  void sdk_gone(ipc::PeerId peer);
  /// Handles what the shim has reported about its engine. If the engine has ended, peers that
  /// waited for that are released; in run mode a running engine is watched, so that it can be ended
  /// without its shim.
  void watch_engine(ipc::PeerId shim);
  /// Called when the published state has changed; it is published once, at the end of this turn.
  void changed();
  void refresh();

  boost::asio::io_context& io_;
  Log& log_;
  ServeFacts facts_;
  lifecycle::Lifecycle core_;
  CoreLoop loop_;
  LiveSettings settings_;
  ProbePublisher probes_;
  StepRecords records_;
  ipc::Server server_;
  ShimSession shim_;
  StopMemory memory_;
  ReportPublisher report_;
  ShimWatch shim_watch_;
  SdkSessions sdks_;
  IngressSession ingress_;
  RequestOrders requests_;
  GonePeers gone_peers_;
  OrphanedEngine orphan_;
  OperatorSessions operators_;
  EngineWatch engine_;
  Registries registries_;
  CleanupItems cleanup_;
  HookCalls hook_calls_;
  OwnSignals signals_;

  bool refresh_is_due_ = false;
  bool engine_has_run_ = false;  // in this life or an earlier one
  int exit_code_ = 0;
};

}  // namespace lastcall::runtime
