#include "core/request_ledger.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

RequestState state_of(CancelMode mode) {
  return mode == CancelMode::kill ? RequestState::killed : RequestState::stopped;
}

/// An engine that ends a handed-off request reports `cancelled`; for its user it is `migrated`. A
/// request that was cut because the engine died has that outcome, however its end was reported. If
/// a relayed request's part in the engine was handed off, the error that ends the request is that
/// hand-off.
Outcome settle_outcome(std::optional<CancelReason> reason, bool part_moved, Outcome reported) {
  bool const handed_off = reason == CancelReason::migrate || reason == CancelReason::grace_timeout;
  if ((handed_off && reported == Outcome::cancelled) ||
      (part_moved && !reason && reported == Outcome::error)) {
    return Outcome::migrated;
  }
  bool const failed = reported == Outcome::cancelled || reported == Outcome::error;
  return reason == CancelReason::engine_dead && failed ? Outcome::engine_dead : reported;
}

}  // namespace

void LedgerNews::clear() {
  settled.clear();
  cancelled.clear();
  confirmed.clear();
  ready.clear();
  moved_from.clear();
  withdrawn.clear();
  cut_off.clear();
}

// --- peers ---------------------------------------------------------------------------------------

void RequestLedger::peer_disconnected(Instant now, PeerId peer) {
  auto const found = peers_.find(peer);
  if (found == peers_.end()) {
    return;
  }
  found->second.connected = false;
  for (Index i = slab_.oldest(); i != kNone;) {
    Index const next = slab_[i].links.newer;
    if (slab_[i].peer == peer && slab_[i].standing != Standing::running) {
      settle_confirm(now, slab_[i]);
      remove(now, i, Outcome::cancelled);
    }
    i = next;
  }
  for (Waiting const& waiting : found->second.cancels) {
    if (slab_[waiting.index].generation == waiting.generation) {
      slab_[waiting.index].queued = false;
    }
  }
  found->second.cancels.clear();
}

void RequestLedger::peer_lost(Instant now, PeerId peer) {
  lose_requests(now, peer);
  peers_.erase(peer);
}

void RequestLedger::lose_requests(Instant now, PeerId peer) {
  for (Index i = slab_.oldest(); i != kNone;) {
    Index const next = slab_[i].links.newer;
    if (slab_[i].peer == peer) {
      bool const has_run = slab_[i].standing == Standing::running;
      remove(now, i, has_run ? Outcome::lost : Outcome::cancelled);
    }
    i = next;
  }
}

// --- requests ------------------------------------------------------------------------------------

RequestLedger::Begin RequestLedger::begin(Instant now, RequestBegun const& request,
                                          EndpointSlot slot, bool late,
                                          std::optional<Cut> const& cut) {
  if (owns(request.peer, request.id)) {
    return Begin::duplicate;
  }
  if (!request.parent.empty() && request.parent == request.id) {
    return Begin::own_parent;
  }
  if (Index const orphan = orphan_of(request); orphan != kNone) {
    adopt(orphan, request.peer, slot);
    return Begin::adopted;
  }
  Index const parent = parent_of(request);
  std::string_view const root =
      request.root.empty() && parent != kNone ? slab_.root_of(parent) : request.root;
  Index const index = slab_.insert(request.peer, request.id, root);
  RequestEntry& entry = slab_[index];
  entry.began_at = std::min(request.began_at.value_or(now), now);
  entry.has_age = entry.began_at < now;
  counts_.with_age += entry.has_age ? 1 : 0;
  entry.slot = slot;
  entry.model = models_.number_of(request.model);
  entry.stream = request.stream;
  entry.late = late;
  entry.counted = parent == kNone && !cut;
  entry.from_tier = parent == kNone && !request.parent.empty();
  entry.asked = request.admit;
  entry.way = request.peer == kIngressPeer ? request.way.value_or(0) : 0;
  ++peers_[entry.peer].requests;
  place(now, index, parent, cut);
  return Begin::begun;
}

void RequestLedger::place(Instant now, Index index, Index parent, std::optional<Cut> const& cut) {
  if (parent == kNone) {
    ++counts_.roots;
    counts_.roots_begun += cut ? 0 : 1;
    if (cut) {
      rise_tree(now, index, cut->mode, CancelReason::parent);
    }
    return;
  }
  slab_.link(parent, index);
  if (slab_[parent].is_cancelled()) {
    rise_tree(now, index, slab_[parent].cancel_mode(), CancelReason::parent);
  }
}

void RequestLedger::adopt(Index index, PeerId peer, EndpointSlot slot) {
  RequestEntry& entry = slab_[index];
  --peers_[entry.peer].requests;
  news.moved_from.push_back(entry.slot);
  entry.slot = slot;
  slab_.move_to(index, peer);
  ++peers_[peer].requests;
  if (entry.is_cancelled() && !entry.confirmed) {
    queue_cancel(index);
  }
}

bool RequestLedger::end(Instant now, PeerId peer, std::string_view id, Outcome outcome) {
  Index const index = slab_.find(peer, id);
  if (index == kNone) {
    return false;
  }
  settle_confirm(now, slab_[index]);
  remove(now, index, outcome);
  return true;
}

bool RequestLedger::confirm(Instant now, PeerId peer, std::string_view id) {
  Index const index = slab_.find(peer, id);
  if (index == kNone) {
    return false;
  }
  settle_confirm(now, slab_[index]);
  return true;
}

void RequestLedger::remove(Instant now, Index index, Outcome outcome) {
  RequestEntry const& entry = slab_[index];
  std::optional<CancelReason> const reason =
      entry.is_cancelled() ? std::optional(entry.reason) : std::nullopt;
  if (reason && !entry.confirmed) {
    --counts_.unconfirmed;
  }
  Outcome const settled = settle_outcome(reason, entry.part_moved, outcome);
  if (settled == Outcome::migrated && entry.links.parent != kNone) {
    slab_[entry.links.parent].part_moved = true;
  }
  news.settled.push_back({entry.slot, entry.model, settled, now - entry.began_at, entry.counted,
                          entry.from_tier, std::nullopt, entry.ticket});
  if (reason) {
    news.cut_off.push_back(
        {entry.id,
         {.mode = entry.cancel_mode(), .relayed = entry.peer == kIngressPeer, .way = entry.way}});
  }
  counts_.waiting -= entry.standing == Standing::waiting ? 1 : 0;
  counts_.with_age -= entry.has_age ? 1 : 0;
  counts_.roots -= entry.links.parent == kNone ? 1 : 0;
  if (auto const peer = peers_.find(entry.peer); peer != peers_.end()) {
    --peer->second.requests;
  }
  counts_.roots += slab_.erase(index);  // its children are now users' requests of their own
}

// --- admission -----------------------------------------------------------------------------------

void RequestLedger::hold(Index index, AdmissionTicket ticket, Standing standing) {
  RequestEntry& entry = slab_[index];
  entry.ticket = ticket;
  entry.standing = standing;
  counts_.waiting += standing == Standing::waiting ? 1 : 0;
}

void RequestLedger::admitted(Index index) {
  slab_[index].standing = Standing::running;
  --counts_.waiting;
}

void RequestLedger::refuse(Instant now, Index index, RejectedReason why) {
  slab_[index].ticket = kNoTicket;
  remove(now, index, Outcome::rejected);
  news.settled.back().rejected = why;
}

std::size_t RequestLedger::cancel_id(Instant now, PeerId peer, std::string_view id, CancelMode mode,
                                     CancelReason reason) {
  Index const index = slab_.find(peer, id);
  return index == kNone ? 0 : rise_tree(now, index, mode, reason);
}

std::size_t RequestLedger::cancel_id(Instant now, std::string_view id, CancelMode mode,
                                     CancelReason reason) {
  std::size_t raised = 0;
  for (Index const index : everywhere(id)) {
    raised += rise_tree(now, index, mode, reason);
  }
  return raised;
}

std::size_t RequestLedger::cancel_root(Instant now, std::optional<PeerId> of, std::string_view root,
                                       CancelMode mode, CancelReason reason) {
  std::size_t raised = 0;
  auto const may = [&](Index index) { return !of || slab_[index].peer == *of; };
  for (Index const index : everywhere(root)) {
    if (may(index) && !slab_.names_root(index)) {
      raised += rise_tree(now, index, mode, reason);
    }
  }
  for (Index i = slab_.first_of_root(root); i != kNone; i = slab_.next_of_root(i)) {
    if (may(i)) {
      raised += rise_tree(now, i, mode, reason);
    }
  }
  return raised;
}

/// The live requests of that id, at all peers.
std::vector<RequestLedger::Index> RequestLedger::everywhere(std::string_view id) const {
  std::vector<Index> found;
  for (auto const& [peer, state] : peers_) {
    if (Index const index = slab_.find(peer, id); index != kNone) {
      found.push_back(index);
    }
  }
  std::sort(found.begin(), found.end(),
            [this](Index a, Index b) { return slab_[a].peer < slab_[b].peer; });
  return found;
}

// --- cancels -------------------------------------------------------------------------------------

template <typename Chosen>
std::size_t RequestLedger::cancel_matching(Instant now, Chosen const& chosen, CancelMode mode,
                                           CancelReason reason) {
  std::size_t first = 0;
  for (Index i = slab_.oldest(); i != kNone; i = slab_[i].links.newer) {
    if (chosen(i)) {
      first += rise_tree(now, i, mode, reason);
    }
  }
  return first;
}

std::size_t RequestLedger::cancel_where(Instant now,
                                        std::function<bool(RequestView const&)> const& chosen,
                                        CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [&](Index index) { return chosen(view(index, nullptr)); }, mode, reason);
}

std::size_t RequestLedger::cancel_all(Instant now, CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [](Index) { return true; }, mode, reason);
}

std::size_t RequestLedger::cancel_ungraceful(Instant now, EndpointTracker const& endpoints,
                                             CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [&](Index index) { return !endpoints.at(slab_[index].slot).graceful; }, mode, reason);
}

CancelBatch RequestLedger::take_cancels(PeerId peer, std::size_t max_ids) {
  CancelBatch batch;
  auto const found = peers_.find(peer);
  if (found == peers_.end()) {
    return batch;
  }
  std::deque<Waiting>& waiting = found->second.cancels;
  while (!waiting.empty() && batch.ids.size() < max_ids) {
    Waiting const next = waiting.front();
    RequestEntry& entry = slab_[next.index];
    if (entry.generation != next.generation || !entry.used) {
      waiting.pop_front();  // it ended before its cancel could be sent
      continue;
    }
    CancelMode const mode =
        entry.state == RequestState::killed ? CancelMode::kill : CancelMode::stop;
    if (batch.ids.empty()) {
      batch.mode = mode;
      batch.reason = entry.reason;
    } else if (mode != batch.mode || entry.reason != batch.reason) {
      break;
    }
    entry.queued = false;
    batch.ids.push_back(entry.id);
    waiting.pop_front();
  }
  return batch;
}

bool RequestLedger::rise(Instant now, RequestEntry& entry, CancelMode mode, CancelReason reason) {
  RequestState const wanted = state_of(mode);
  if (entry.state >= wanted) {
    return false;
  }
  bool const first = entry.state == RequestState::live;
  entry.state = wanted;
  if (first && entry.standing == Standing::waiting) {
    entry.standing = Standing::withdrawn;
    --counts_.waiting;
    news.withdrawn.push_back(entry.ticket);
    entry.ticket = kNoTicket;
  }
  if (first) {
    entry.reason = reason;
    entry.cancelled_at = now;
    ++counts_.unconfirmed;
    if (entry.counted) {
      news.cancelled.push_back({entry.slot, entry.model, entry.stream, reason, entry.from_tier});
    }
  }
  return true;
}

std::size_t RequestLedger::rise_tree(Instant now, Index index, CancelMode mode,
                                     CancelReason reason) {
  std::size_t raised = 0;
  work_.clear();
  work_.push_back(index);
  while (!work_.empty()) {
    Index const current = work_.back();
    work_.pop_back();
    RequestEntry& entry = slab_[current];
    if (!rise(now, entry, mode, current == index ? reason : CancelReason::parent)) {
      continue;  // its children have the cancel already
    }
    ++raised;
    queue_cancel(current);
    for (Index child = entry.links.last_child; child != kNone;
         child = slab_[child].links.previous_sibling) {
      work_.push_back(child);  // the last one first, because the stack turns them into link order
    }
  }
  return raised;
}

void RequestLedger::queue_cancel(Index index) {
  RequestEntry& entry = slab_[index];
  Peer& peer = peers_[entry.peer];
  if (entry.queued || !peer.connected) {
    return;
  }
  entry.queued = true;
  peer.cancels.push_back({index, entry.generation});
  if (std::find(news.ready.begin(), news.ready.end(), entry.peer) == news.ready.end()) {
    news.ready.push_back(entry.peer);
  }
}

void RequestLedger::settle_confirm(Instant now, RequestEntry& entry) {
  if (entry.state == RequestState::live || entry.confirmed) {
    return;
  }
  entry.confirmed = true;
  --counts_.unconfirmed;
  if (entry.counted) {
    news.confirmed.push_back({entry.reason, now - entry.cancelled_at});
  }
}

}  // namespace lastcall::lifecycle
