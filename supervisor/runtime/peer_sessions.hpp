// The peers on the sockets: each line goes to the session of its role, and the end of a peer's
// process to everything that waits for that peer.
//
// Invariants:
//  1. The cause is reported first: an SDK's process that may have ended with its engine is reported
//     after the engine's end (gone_peers.hpp).
//  2. In run mode a running engine is watched, so that it can be ended without its shim
//     (orphaned_engine.hpp).
//
// Thread rule: the loop's thread. Source: docs/ipc.md; specification, 'Processes'.
#pragma once

#include <functional>
#include <string_view>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/engine/orphaned_engine.hpp"
#include "supervisor/runtime/listener/hook_calls.hpp"
#include "supervisor/runtime/listener/peer_metrics.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/registration.hpp"
#include "supervisor/runtime/sessions/gone_peers.hpp"
#include "supervisor/runtime/sessions/operator_sessions.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "supervisor/runtime/step_records.hpp"
#include "telemetry/log.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class PeerSessions final : private ipc::Observer {
 public:
  /// The parts that peers concern beside the core; they may be constructed later.
  struct Parts {
    StepRecords& records;
    Registration& registration;
    HookCalls& hook_calls;
  };
  struct Callbacks {
    /// The shim reports how the engine ended, before the core knows.
    std::function<void(ipc::EngineExited const&)> engine_exited;
    std::function<void()> changed;
  };

  PeerSessions(boost::asio::io_context& io, config::Config const& config,
               lifecycle::Lifecycle& core, EventSink& events, Parts parts, probes::Metrics& metrics,
               telemetry::Log& log, OperatorSessions::Answers answers, Callbacks callbacks);
  ~PeerSessions() override;

  ipc::Server& server() { return server_; }
  ShimSession& shim() { return shim_; }
  SdkSessions& sdks() { return sdks_; }
  OperatorSessions& operators() { return operators_; }
  OrphanedEngine& orphan() { return orphan_; }

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

  void sdk_gone(ipc::PeerId peer);
  /// Handles what the shim has reported about its engine.
  void watch_engine(ipc::PeerId shim);
  void count_peers();

  lifecycle::Lifecycle& core_;
  Parts const parts_;
  telemetry::Log& log_;
  Callbacks const callbacks_;
  PeerMetrics metrics_;
  ipc::Server server_;
  ShimSession shim_;
  SdkSessions sdks_;
  GonePeers gone_peers_;
  OrphanedEngine orphan_;
  OperatorSessions operators_;
};

}  // namespace lastcall::runtime
