#include "core/request_rules.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/admission_rules.hpp"
#include "core/engine_rules.hpp"
#include "core/event_rules.hpp"
#include "core/questions.hpp"

namespace lastcall::lifecycle::rules {
namespace {

Refuse not_yours(std::string const& id) {
  return {Refusal::not_yours, "this connection has no live request '" + id + "'"};
}

/// Returns the refusal if there are too many live requests; absent if there is room.
std::optional<Refuse> crowded_out(Machines const& m, RequestBegun const& request) {
  if (m.ledger.owns(request.peer, request.id)) {
    return std::nullopt;  // a duplicate is another error
  }
  auto const limit = [](std::string_view whose, std::uint32_t most, std::string_view limit_of) {
    std::string text(whose);
    text.append(std::to_string(most)).append(" live requests, which is ").append(limit_of);
    return Refuse{Refusal::busy, text.append(" limit")};
  };
  if (m.ledger.of_peer(request.peer) >= m.settings.peer_requests) {
    return limit("this connection has ", m.settings.peer_requests, "its");
  }
  std::size_t const of_peers = m.ledger.in_flight() - m.ledger.of_peer(kIngressPeer);
  if (of_peers >= m.settings.peers_requests) {
    return limit("all connections together have ", m.settings.peers_requests, "their");
  }
  return std::nullopt;
}

/// If the phase has already cancelled requests like this one, it gets the same cancel at once.
void cancel_late(Machines& m, Instant now, RequestBegun const& request, EndpointSlot slot) {
  bool const is_fatal =
      m.coordinator.is_stopping() && m.coordinator.stop()->mode == StopMode::fatal;
  if (auto const mode = m.coordinator.cancels_new(false)) {
    m.ledger.cancel_id(now, request.peer, request.id, *mode,
                       is_fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
  } else if (auto const migrate = m.coordinator.cancels_new(true);
             migrate && !m.endpoints.at(slot).graceful) {
    m.ledger.cancel_id(now, request.peer, request.id, *migrate, CancelReason::migrate);
  }
}

/// The last endpoint counts as completed only if requests are reported and no peer is still
/// expected back.
void notify_endpoints(Machines& m) {
  if (m.coordinator.phase() != Phase::draining) {
    return;
  }
  if (m.notified.graceful(m.endpoints.active_graceful())) {
    m.orders.act(GracefulEndpoints{m.notified.graceful()});
  }
  if (in_flight_known(m) && !m.recovery.awaits_peers() && !m.unseen.of_peers() &&
      m.notified.completion()) {
    m.orders.act(LastEndpointCompleted{});
  }
}

void take_news(Machines& m, Instant now) {
  for (AdmissionTicket const ticket : m.ledger.news.withdrawn) {
    m.admission.leave(now, ticket);
  }
  for (EndpointSlot const slot : m.ledger.news.moved_from) {
    m.endpoints.leave(slot);
  }
  for (LedgerNews::Cancelled const& cancelled : m.ledger.news.cancelled) {
    m.orders.act(CancelCounted{m.endpoints.at(cancelled.slot).name,
                               m.ledger.models().name(cancelled.model), cancelled.stream,
                               cancelled.reason, cancelled.from_tier});
  }
  for (LedgerNews::Confirmed const& confirmed : m.ledger.news.confirmed) {
    m.orders.act(CancelSettled{confirmed.reason, confirmed.elapsed});
  }
  for (LedgerNews::Settled const& settled : m.ledger.news.settled) {
    if (settled.counted) {
      m.tally.settled(now, settled.outcome, settled.elapsed);
      m.orders.act(RequestSettled{m.endpoints.at(settled.slot).name,
                                  m.ledger.models().name(settled.model), settled.outcome,
                                  settled.elapsed, settled.rejected, true, settled.from_tier});
    }
    if (settled.ticket != kNoTicket) {
      m.admission.leave(now, settled.ticket);
    }
    m.endpoints.leave(settled.slot);
  }
  for (PeerId const peer : m.ledger.news.ready) {
    m.orders.act(CancelsReady{peer});
  }
  for (LedgerNews::CutOff const& ended : m.ledger.news.cut_off) {
    m.cut.ended(now, ended.id, ended.cut);
  }
  m.ledger.news.clear();
}

}  // namespace

void on(Machines& m, Instant now, RequestBegun const& request) {
  bool const is_relayed = request.peer == kIngressPeer;
  if ((!is_relayed && !m.peers.knows(request.peer)) || m.coordinator.phase() == Phase::exited) {
    m.orders.act(Refuse{Refusal::conflict, "the stop has ended: nothing is accepted any more"});
    return;
  }
  if (is_relayed) {
    m.evidence.ingress_relayed();
  } else {
    m.peers.became_source(request.peer);
  }
  std::optional<Cut> cut = m.cut.begun(now, request);
  if (cut && m.ledger.is_wanted(request)) {
    cut.reset();  // a live request is better evidence than one that is over
  }
  bool const is_known = m.ledger.is_adoptable(request);
  bool const asks = request.admit && !request.resumed && !is_known;
  if (auto refused = is_relayed || is_known ? std::optional<Refuse>() : crowded_out(m, request)) {
    m.orders.act(std::move(*refused));
    return;
  }
  // A request whose user has left is not refused: its cancel is the answer.
  if (auto const refused = asks && !cut ? refusal_of(m, now, request) : std::nullopt) {
    refuse_new(m, now, request, *refused);
    return;
  }
  bool const is_late = refuses(m.coordinator.phase()) && !request.resumed;
  bool const is_part = m.ledger.is_part(request);
  bool may_run = true;
  EndpointSlot const slot = m.endpoints.slot(request.peer, request.endpoint);
  switch (m.ledger.begin(now, request, slot, is_late, cut)) {
    case RequestLedger::Begin::duplicate:
      m.orders.act(Refuse{Refusal::duplicate_id, "request '" + request.id + "' is live already"});
      return;
    case RequestLedger::Begin::own_parent:
      m.orders.act(Refuse{Refusal::bad_field, "parent: a request cannot be its own parent"});
      return;
    case RequestLedger::Begin::begun:
      m.endpoints.enter(slot);
      if (is_late) {
        m.tally.began_late();
      }
      may_run = admit_newest(m, now, request, asks, is_part);
      cancel_late(m, now, request, slot);
      break;
    case RequestLedger::Begin::adopted:
      m.endpoints.enter(slot);
      break;
  }
  if (request.resumed) {
    m.peers.announced_again(request.peer);
  }
  if (request.admit && may_run) {
    m.orders.act(Admit{request.peer, request.id});
  }
}

void on(Machines& m, Instant now, RequestEnded const& ended) {
  if (!m.ledger.end(now, ended.peer, ended.id, ended.outcome)) {
    m.orders.act(not_yours(ended.id));
    return;
  }
  if (ended.outcome == Outcome::completed) {
    progressed(m, now);
    m.evidence.rest.moved(now);
  }
}

void on(Machines& m, Instant now, RequestProgressed const& progress) {
  bool moved = false;
  for (std::string const& id : progress.ids) {
    auto const ticket = m.ledger.ticket_of(progress.peer, id);
    moved = moved || ticket.has_value();
    if (ticket && *ticket != kNoTicket) {
      auto const waited = m.admission.first_byte(now, *ticket);
      if (waited && !m.ledger.answers_whole(progress.peer, id)) {
        m.health.responsiveness.first_token(*waited);
      }
    }
  }
  if (moved) {
    progressed(m, now);
    m.evidence.rest.moved(now);
  }
}

void on(Machines& m, Instant now, CancelConfirmed const& confirmed) {
  if (!m.ledger.confirm(now, confirmed.peer, confirmed.id)) {
    m.orders.act(not_yours(confirmed.id));
  }
}

void on(Machines& m, Instant now, CancelRequested const& request) {
  std::size_t reached = 0;
  for (std::string const& id : request.ids) {
    if (!request.by) {
      reached += m.ledger.cancel_id(now, id, request.mode, request.reason);
    } else if (m.ledger.owns(*request.by, id)) {
      reached += m.ledger.cancel_id(now, *request.by, id, request.mode, request.reason);
    } else {
      m.orders.act(not_yours(id));
    }
  }
  if (!request.root.empty()) {
    std::size_t const raised =
        m.ledger.cancel_root(now, request.by, request.root, request.mode, request.reason);
    if (raised > 0 && !request.by) {  // a part of it that is announced later is cut, too
      m.cut.ended(now, request.root, {.mode = request.mode, .relayed = false});
    }
    reached += raised;
  }
  if (!request.by) {
    m.orders.answer(reached > 0);
  }
}

void drain_ledger(Machines& m, Instant now) {
  if (!m.ledger.news.is_empty()) {  // usually there is no news
    take_news(m, now);
  }
  notify_endpoints(m);
}

}  // namespace lastcall::lifecycle::rules
