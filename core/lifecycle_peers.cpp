// SDK peers and their requests.
#include <algorithm>
#include <string>

#include "core/check.hpp"
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

Refuse not_yours(std::string const& id) {
  return {Refusal::not_yours, "this connection has no live request '" + id + "'"};
}

}  // namespace

// --- peers ---------------------------------------------------------------------------------------

void Lifecycle::on(Instant, PeerConnected const& connected) {
  peers_[connected.peer] = Peer{.name = connected.name,
                                .critical = connected.critical,
                                .watched = connected.watched,
                                .announced = connected.live};
  ledger_.peer_connected(connected.peer);
  if (coordinator_.phase() == Phase::cleaning_up && engine_ != EngineState::exited) {
    cleanup_.apply_late(CleanupItem::sdk);
    take_over_cleanup(connected.name);
    peers_[connected.peer].cleanup_pending = true;
  }
}

void Lifecycle::on(Instant now, PeerDisconnected const& gone) {
  auto const found = peers_.find(gone.peer);
  if (found == peers_.end()) {
    return;
  }
  found->second.connected = false;
  if (found->second.cleanup_pending) {
    found->second.unclean_at = now + std::min(kCleanupReturn, settings_.reconnect_window);
  }
  found->second.lost_at = now + settings_.reconnect_window;
  ledger_.peer_disconnected(now, gone.peer);
}

void Lifecycle::on(Instant now, PeerGone const& gone) {
  lose_peer(now, gone.peer, true);
}

void Lifecycle::expire_peers(Instant now) {
  for (auto it = peers_.begin(); it != peers_.end();) {
    auto const current = it++;
    Peer& peer = current->second;
    if (peer.unclean_at && (now >= *peer.unclean_at || engine_ == EngineState::exited)) {
      note_unclean(peer);
    }
    if (!peer.lost_at || now < *peer.lost_at) {
      continue;
    }
    peer.lost_at.reset();
    if (peer.critical && peer.watched) {
      ledger_.lose_requests(now, current->first);  // its process is still worth watching
    } else {
      lose_peer(now, current->first, false);
    }
  }
}

void Lifecycle::lose_peer(Instant now, PeerId id, bool process_gone) {
  auto const found = peers_.find(id);
  if (found == peers_.end()) {
    return;
  }
  note_unclean(found->second);
  Peer const peer = found->second;
  peers_.erase(found);
  last_source_gone_ = last_source_gone_ || (peer.source && process_gone);
  bool const replaced =
      !process_gone && std::any_of(peers_.begin(), peers_.end(), [&](auto const& other) {
        return other.second.connected && other.second.name == peer.name;
      });
  bool const may_kill = !coordinator_.is_stopping() && coordinator_.phase() != Phase::starting &&
                        coordinator_.phase() != Phase::exited && !engine_is_leaving();
  if (peer.critical && !replaced && may_kill) {  // before its requests: its stop reports them
    fatal(now, CauseKind::child_died, "the critical process '" + peer.name + "' is gone");
  }
  ledger_.peer_lost(now, id);
  drain_ledger(now);
  endpoints_.peer_forgotten(id);
  loads_.peer_forgotten(id);
  act(ForgetPeer{id});
}

void Lifecycle::on(Instant now, PeerFatal const& report) {
  if (engine_is_leaving() && !coordinator_.is_stopping()) {
    return;
  }
  std::string detail = report.reason;
  if (!report.detail.empty()) {
    detail += "\n" + report.detail;
  }
  fatal(now, CauseKind::fatal, std::move(detail));
}

void Lifecycle::on(Instant, PeerCleanedUp const& done) {
  if (auto const found = peers_.find(done.peer); found != peers_.end()) {
    found->second.cleanup_pending = false;
  }
}

// --- endpoints -----------------------------------------------------------------------------------

void Lifecycle::on(Instant, EndpointRegistered const& registered) {
  endpoints_.register_endpoint(registered.peer, registered.endpoint, registered.graceful);
  if (auto const found = peers_.find(registered.peer); found != peers_.end()) {
    found->second.source = true;
  }
}

void Lifecycle::on(Instant, EndpointUnregistered const& unregistered) {
  if (!endpoints_.unregister_endpoint(unregistered.peer, unregistered.endpoint)) {
    act(Refuse{Refusal::not_yours,
               "this connection has not registered endpoint '" + unregistered.endpoint + "'"});
  }
}

// --- requests ------------------------------------------------------------------------------------

void Lifecycle::on(Instant now, RequestBegun const& request) {
  auto const found = peers_.find(request.peer);
  bool const is_relayed = request.peer == kIngressPeer;
  if ((found == peers_.end() && !is_relayed) || coordinator_.phase() == Phase::exited) {
    act(Refuse{Refusal::conflict, "the stop has ended: nothing is accepted any more"});
    return;
  }
  (is_relayed ? ingress_has_relayed_ : found->second.source) = true;
  std::optional<Cut> cut = cut_.begun(now, request);
  if (cut && ledger_.is_wanted(request)) {
    cut.reset();  // what is live says more than what is over
  }
  bool const is_known = ledger_.is_adoptable(request);
  bool const asks = request.admit && !request.resumed && !is_known;
  if (!is_relayed && !is_known && has_too_many(request)) {
    act(Refuse{Refusal::busy, "this connection has " + std::to_string(settings_.peer_requests) +
                                  " live requests, as many as it may have"});
    return;
  }
  // One whose user has left is not refused: its cancel is the answer.
  if (auto const refused = asks && !cut ? refusal_of(now, request) : std::nullopt) {
    refuse_new(now, request, *refused);
    return;
  }
  bool const is_late = coordinator_.refuses() && !request.resumed;
  bool const is_part = ledger_.is_part(request);
  bool may_run = true;
  EndpointSlot const slot = endpoints_.slot(request.peer, request.endpoint);
  switch (ledger_.begin(now, request, slot, is_late, cut)) {
    case RequestLedger::Begin::duplicate:
      act(Refuse{Refusal::duplicate_id, "request '" + request.id + "' is live already"});
      return;
    case RequestLedger::Begin::own_parent:
      act(Refuse{Refusal::bad_field, "parent: a request cannot be its own parent"});
      return;
    case RequestLedger::Begin::begun:
      endpoints_.enter(slot);
      late_ += is_late ? 1 : 0;
      may_run = admit_newest(now, request, asks, is_part);
      cancel_late(now, request, slot);
      break;
    case RequestLedger::Begin::adopted:
      endpoints_.enter(slot);
      break;
  }
  if (!is_relayed) {
    found->second.resumed += request.resumed ? 1 : 0;
  }
  if (request.admit && may_run) {
    act(Admit{request.peer, request.id});
  }
}

bool Lifecycle::has_too_many(RequestBegun const& request) const {
  return ledger_.of_peer(request.peer) >= settings_.peer_requests &&
         !ledger_.owns(request.peer, request.id);  // that is another error
}

/// Where the phase has already cancelled its like, a newcomer gets the same at once.
void Lifecycle::cancel_late(Instant now, RequestBegun const& request, EndpointSlot slot) {
  bool const is_fatal = coordinator_.is_stopping() && coordinator_.stop()->mode == StopMode::fatal;
  if (auto const mode = coordinator_.cancels_new()) {
    ledger_.cancel_id(now, request.peer, request.id, *mode,
                      is_fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
  } else if (auto const migrate = coordinator_.cancels_new_ungraceful();
             migrate && !endpoints_.at(slot).graceful) {
    ledger_.cancel_id(now, request.peer, request.id, *migrate, CancelReason::migrate);
  }
}

void Lifecycle::on(Instant now, RequestEnded const& ended) {
  if (!ledger_.end(now, ended.peer, ended.id, ended.outcome)) {
    act(not_yours(ended.id));
    return;
  }
  if (ended.outcome == Outcome::completed) {
    progressed(now);
  }
}

void Lifecycle::on(Instant now, RequestProgressed const& progress) {
  bool moved = false;
  for (std::string const& id : progress.ids) {
    auto const ticket = ledger_.ticket_of(progress.peer, id);
    moved = moved || ticket.has_value();
    if (ticket && *ticket != kNoTicket) {
      auto const waited = admission_.first_byte(now, *ticket);
      if (waited && !ledger_.answers_whole(progress.peer, id)) {
        health_.first_token(*waited);
      }
    }
  }
  if (moved) {
    progressed(now);
  }
}

void Lifecycle::on(Instant now, CancelConfirmed const& confirmed) {
  if (!ledger_.confirm(now, confirmed.peer, confirmed.id)) {
    act(not_yours(confirmed.id));
  }
}

void Lifecycle::on(Instant now, CancelRequested const& request) {
  std::size_t reached = 0;
  for (std::string const& id : request.ids) {
    if (!request.by) {
      reached += ledger_.cancel_id(now, id, request.mode, request.reason);
    } else if (ledger_.owns(*request.by, id)) {
      reached += ledger_.cancel_id(now, *request.by, id, request.mode, request.reason);
    } else {
      act(not_yours(id));
    }
  }
  if (!request.root.empty()) {
    reached += ledger_.cancel_root(now, request.by, request.root, request.mode, request.reason);
  }
  if (!request.by) {
    answer(reached > 0);
  }
}

}  // namespace lastcall::lifecycle
