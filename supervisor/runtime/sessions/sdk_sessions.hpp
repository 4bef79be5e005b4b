// The SDKs inside the engine: their endpoints, requests, cancels and answers.
//
// Invariants:
//  1. Every line is one event; its `seq` is answered with the core's reply to that event.
//  2. Cancels are not queued here: the server calls next_cancels() as a peer's socket accepts them.
//  3. A peer that joins late receives the orders that the others have received: the phase with its
//     deadline, the deregistration, and the cleanup.
//
// Thread rule: the loop's thread. Source: docs/ipc.md.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/sessions/sdk_peers.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class SdkSessions {
 public:
  /// Facts about peers that do not concern the core, and facts that peers need.
  struct Listeners {
    std::function<void(ipc::PeerId)> joined;
    std::function<void(ipc::PeerId, ipc::Health const&)> health;
    /// The peer holds back an error that may mean the engine's death.
    std::function<void(ipc::PeerId)> doubt;
    /// The peer registers by its own means.
    std::function<void(ipc::PeerId)> registered;
    std::function<void(ipc::PeerId)> deregistered;
    /// The peer is gone for good or has disconnected, and will not answer any more.
    std::function<void(ipc::PeerId)> left;
    /// A request began and counts as a user's.
    std::function<void(std::string_view endpoint)> request_began;
    /// Returns the mark of the supervisor's own requests to its engine.
    std::function<std::string()> own_mark;
  };

  SdkSessions(ipc::Server& server, lifecycle::Lifecycle& core, EventSink& events,
              telemetry::Log& log)
      : server_(server), core_(core), events_(events), log_(log) {}
  void listen(Listeners listeners) { listeners_ = std::move(listeners); }

  void hello(ipc::PeerId peer, ipc::Hello&& hello);
  void message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq);
  void disconnected(ipc::PeerId peer, std::string_view why);
  void process_gone(ipc::PeerId peer);
  std::size_t next_cancels(ipc::PeerId peer, ipc::CancelBatch& batch);

  // The orders of the core.
  void broadcast(ipc::FromSupervisor const& message);
  void admit(lifecycle::Admit const& order);
  void reject(lifecycle::Reject const& order);
  void clean_up(lifecycle::Instant deadline);
  void forget(ipc::PeerId peer);
  void rearm() { cleanup_deadline_.reset(); }

  SdkPeers const& peers() const { return peers_; }

 private:
  void handle(ipc::PeerId peer, ipc::Seq seq, lifecycle::Event const& event);
  void begin(ipc::PeerId peer, ipc::RequestBegin&& begin, ipc::Seq seq);
  void fatal(ipc::PeerId peer, ipc::Fatal&& fatal, ipc::Seq seq);
  void answer(ipc::PeerId peer, ipc::Seq seq, StepReply const& reply);
  bool leave(ipc::PeerId peer);

  ipc::Server& server_;
  lifecycle::Lifecycle& core_;
  EventSink& events_;
  telemetry::Log& log_;
  Listeners listeners_;
  SdkPeers peers_;  // until they are forgotten
  std::optional<lifecycle::Instant> cleanup_deadline_;
  bool is_crowded_ = false;  // it was notified that all peers together have too many requests
};

}  // namespace lastcall::runtime
