// All machines of the core side by side, and the orders of a step.
//
// Rules:
//  1. A machine knows only its own part, and may be made of smaller ones; none of those here calls
//     another. Their joint meaning is in questions.hpp, and the decisions that follow from it are
//     in *_rules.hpp.
//  2. A copy continues independently, which the exploration of possible events uses.
//
// Owned by the core's thread.
#pragma once

#include "core/admission.hpp"
#include "core/cleanup_sequence.hpp"
#include "core/cut_requests.hpp"
#include "core/endpoint_tracker.hpp"
#include "core/engine_health.hpp"
#include "core/engine_process.hpp"
#include "core/evidence.hpp"
#include "core/load_monitor.hpp"
#include "core/memory.hpp"
#include "core/notified.hpp"
#include "core/orders.hpp"
#include "core/own_end.hpp"
#include "core/peer_table.hpp"
#include "core/prestop.hpp"
#include "core/recovery.hpp"
#include "core/registrations.hpp"
#include "core/request_ledger.hpp"
#include "core/settings.hpp"
#include "core/shim_link.hpp"
#include "core/shutdown_coordinator.hpp"
#include "core/tally.hpp"
#include "core/unseen.hpp"

namespace lastcall::lifecycle {

struct Machines {
  /// `settings` outlives this, and its copies.
  explicit Machines(Settings const& settings_now)
      : settings(settings_now),
        coordinator(settings),
        health(settings.health),
        evidence(settings),
        admission(settings.admission),
        loads(settings.load),
        registrations(settings.registries) {}

  Settings const& settings;
  Orders orders;

  // The machines of a drain or stop.
  ShutdownCoordinator coordinator;
  CleanupSequence cleanup;
  Tally tally;
  Unseen unseen;
  // The machines of the engine and its container.
  ShimLink shim;
  EngineProcess engine;
  EngineHealth health;
  Evidence evidence;
  PreStop prestop;
  // The machines of requests and their peers.
  PeerTable peers;
  RequestLedger ledger;
  EndpointTracker endpoints;
  CutRequests cut;
  Admission admission;
  LoadMonitor loads;
  // The machines of the supervisor itself.
  Registrations registrations;
  Recovery recovery;
  OwnEnd own;
  Memory memory;
  Notified notified;
};

}  // namespace lastcall::lifecycle
