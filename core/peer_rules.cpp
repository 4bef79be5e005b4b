#include "core/peer_rules.hpp"

#include <string>
#include <utility>

#include "core/event_rules.hpp"
#include "core/questions.hpp"
#include "core/request_rules.hpp"
#include "core/stop_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

void lose_peer(Machines& m, Instant now, PeerId id, bool process_gone) {
  auto const peer = m.peers.remove(id);
  if (!peer) {
    return;
  }
  if (peer->source && process_gone) {
    m.evidence.source_gone();
  }
  Phase const phase = m.coordinator.phase();
  bool const replaced = !process_gone && m.peers.has_connected(peer->name);
  bool const may_kill = !m.coordinator.is_stopping() && phase != Phase::starting &&
                        phase != Phase::exited && !engine_is_leaving(m);
  // This comes before its requests are lost, so that the report of the stop counts them.
  if (peer->critical && !replaced && may_kill) {
    fatal(m, now, CauseKind::child_died, "the critical process '" + peer->name + "' is gone");
  }
  m.ledger.peer_lost(now, id);
  drain_ledger(m, now);
  m.endpoints.peer_forgotten(id);
  m.loads.peer_forgotten(id);
  m.orders.act(ForgetPeer{id});
}

}  // namespace

void on(Machines& m, Instant /*now*/, PeerConnected const& connected) {
  m.peers.connected(connected);
  m.ledger.peer_connected(connected.peer);
  if (m.coordinator.phase() == Phase::cleaning_up && !m.engine.has_exited()) {
    m.cleanup.apply_late(CleanupItem::sdk);
    m.peers.ask_late(connected);
  }
}

void on(Machines& m, Instant now, PeerDisconnected const& gone) {
  if (m.peers.disconnected(now, gone.peer, m.settings.reconnect_window)) {
    m.ledger.peer_disconnected(now, gone.peer);
  }
}

void on(Machines& m, Instant now, PeerGone const& gone) {
  lose_peer(m, now, gone.peer, true);
}

void on(Machines& m, Instant now, PeerFatal const& report) {
  if (engine_is_leaving(m) && !m.coordinator.is_stopping()) {
    return;
  }
  std::string detail = report.reason;
  if (!report.detail.empty()) {
    detail += "\n" + report.detail;
  }
  fatal(m, now, CauseKind::fatal, std::move(detail));
}

void on(Machines& m, Instant /*now*/, PeerCleanedUp const& done) {
  m.peers.cleaned_up(done.peer);
}

void on(Machines& m, Instant /*now*/, EndpointRegistered const& registered) {
  if (!m.endpoints.register_endpoint(registered.peer, registered.endpoint, registered.graceful)) {
    m.orders.act(Refuse{Refusal::busy, "there are " + std::to_string(kMostRegistered) +
                                           " registered endpoints, which is the limit"});
    return;
  }
  m.peers.became_source(registered.peer);
}

void on(Machines& m, Instant /*now*/, EndpointUnregistered const& unregistered) {
  if (!m.endpoints.unregister_endpoint(unregistered.peer, unregistered.endpoint)) {
    m.orders.act(Refuse{Refusal::not_yours, "this connection has not registered endpoint '" +
                                                unregistered.endpoint + "'"});
  }
}

void expire_peers(Machines& m, Instant now) {
  for (;;) {
    auto const [due, peer] = m.peers.next_due(now, m.engine.has_exited());
    switch (due) {
      case PeerTable::Due::none:
        return;
      case PeerTable::Due::lost:
        lose_peer(m, now, peer, false);
        break;
      case PeerTable::Due::requests_lost:
        m.ledger.lose_requests(now, peer);
        break;
    }
  }
}

}  // namespace lastcall::lifecycle::rules
