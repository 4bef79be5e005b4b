// The session of the shim: its identity, its reports, and the orders to it.
//
// Invariants:
//  1. At most one boot takes part at a time. A hello of another boot is answered with `busy`, its
//     connection is closed, and it changes nothing.
//  2. The `welcome` is written before the first order of the core's step for a `hello`: it names
//     the phase that the hello has restored, not the phase before that.
//  3. A `signal` is acked only after the core has handled it and its orders were written, so the
//     shim notices if the supervisor dies in between.
//  4. A new connection of the same boot replaces the old one, and the end of the old one is then
//     ignored.
//
// Thread rule: the loop's thread. Source: specification, 'Shims'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/host/oom_counter.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

/// The current `welcome`.
ipc::Welcome welcome_of(lifecycle::Lifecycle const& core);

class ShimSession {
 public:
  ShimSession(ipc::Server& server, lifecycle::Lifecycle const& core, EventSink& events,
              telemetry::Log& log)
      : server_(server), core_(core), events_(events), log_(log) {}

  void hello(ipc::PeerId peer, ipc::Hello&& hello);
  void message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq);
  void disconnected(ipc::PeerId peer, std::string_view why);
  void process_gone(ipc::PeerId peer);

  bool is_connected() const { return peer_ != 0; }
  bool is(ipc::PeerId peer) const { return peer_ != 0 && peer_ == peer; }
  /// Does nothing while no shim is connected.
  void send(ipc::FromSupervisor const& message);
  /// Is sent now, not at the end of this turn.
  void signal_engine(lifecycle::SignalEngine const& order);

  /// The last report about its engine, for display.
  ipc::EngineFacts const& engine() const { return engine_; }
  std::string const& boot() const { return boot_; }
  bool is_run_mode() const { return run_; }

 private:
  void engine_exited(ipc::EngineExited const& exited);
  void process_died(ipc::EngineDied const& died);
  telemetry::LogLevel level_of_end(bool oom) const;
  void welcome_once();

  ipc::Server& server_;
  lifecycle::Lifecycle const& core_;
  EventSink& events_;
  telemetry::Log& log_;

  ipc::PeerId peer_ = 0;     // the peer that is connected; 0: none
  ipc::PeerId watched_ = 0;  // the last connection of this boot; its process is watched
  std::string boot_;
  bool run_ = false;
  ipc::EngineFacts engine_;
  OomCounter oom_;
  bool owes_welcome_ = false;
};

}  // namespace lastcall::runtime
