#include "core/request_ledger.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

RequestState state_of(CancelMode mode) {
  return mode == CancelMode::kill ? RequestState::killed : RequestState::stopped;
}

}  // namespace

// --- peers ---------------------------------------------------------------------------------------

void RequestLedger::peer_connected(PeerId peer) {
  peers_[peer].connected = true;
}

void RequestLedger::peer_disconnected(Instant now, PeerId peer) {
  auto const found = peers_.find(peer);
  if (found == peers_.end()) {
    return;
  }
  found->second.connected = false;
  for (Index i = oldest_; i != kNone;) {
    Index const next = entries_[i].newer;
    if (entries_[i].peer == peer && entries_[i].standing != Standing::running) {
      settle_confirm(now, entries_[i]);
      remove(now, i, Outcome::cancelled);
    }
    i = next;
  }
  for (Waiting const& waiting : found->second.cancels) {
    if (entries_[waiting.index].generation == waiting.generation) {
      entries_[waiting.index].queued = false;
    }
  }
  found->second.cancels.clear();
}

void RequestLedger::peer_lost(Instant now, PeerId peer) {
  lose_requests(now, peer);
  peers_.erase(peer);
}

void RequestLedger::lose_requests(Instant now, PeerId peer) {
  for (Index i = oldest_; i != kNone;) {
    Index const next = entries_[i].newer;
    if (entries_[i].peer == peer) {
      bool const has_run = entries_[i].standing == Standing::running;
      remove(now, i, has_run ? Outcome::lost : Outcome::cancelled);
    }
    i = next;
  }
}

// --- requests ------------------------------------------------------------------------------------

RequestLedger::Begin RequestLedger::begin(Instant now, RequestBegun const& request,
                                          EndpointSlot slot, bool late,
                                          std::optional<Cut> const& cut) {
  if (find(request.peer, request.id) != kNone) {
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
  Index const index = allocate();
  Entry& entry = entries_[index];
  entry.peer = request.peer;
  entry.id = request.id;
  std::string_view const root =
      request.root.empty() && parent != kNone ? root_of(entries_[parent]) : request.root;
  entry.root = root == request.id ? std::string_view() : root;
  entry.began_at = now;
  entry.slot = slot;
  entry.model = intern_model(request.model);
  entry.stream = request.stream;
  entry.late = late;
  entry.counted = parent == kNone && !cut;
  entry.from_tier = parent == kNone && !request.parent.empty();
  entry.asked = request.admit;
  entry.way = request.peer == kIngressPeer ? request.way.value_or(0) : 0;
  index_.emplace(Key{entry.peer, entry.id}, index);
  enter_root(index);
  ++peers_[entry.peer].requests;
  ++live_;
  if (parent == kNone) {
    ++roots_;
    roots_begun_ += cut ? 0 : 1;
    if (cut) {
      rise_tree(now, index, cut->mode, CancelReason::parent);
    }
  } else {
    link(parent, index);
    RequestState const above = entries_[parent].state;
    if (above != RequestState::live) {
      rise_tree(now, index, above == RequestState::killed ? CancelMode::kill : CancelMode::stop,
                CancelReason::parent);
    }
  }
  return Begin::begun;
}

bool RequestLedger::end(Instant now, PeerId peer, std::string_view id, Outcome outcome) {
  Index const index = find(peer, id);
  if (index == kNone) {
    return false;
  }
  settle_confirm(now, entries_[index]);
  remove(now, index, outcome);
  return true;
}

bool RequestLedger::confirm(Instant now, PeerId peer, std::string_view id) {
  Index const index = find(peer, id);
  if (index == kNone) {
    return false;
  }
  settle_confirm(now, entries_[index]);
  return true;
}

bool RequestLedger::owns(PeerId peer, std::string_view id) const {
  return find(peer, id) != kNone;
}

// --- cancels -------------------------------------------------------------------------------------

template <typename Chosen>
std::size_t RequestLedger::cancel_matching(Instant now, Chosen const& chosen, CancelMode mode,
                                           CancelReason reason) {
  std::size_t first = 0;
  for (Index i = oldest_; i != kNone; i = entries_[i].newer) {
    if (chosen(entries_[i])) {
      first += rise_tree(now, i, mode, reason);
    }
  }
  return first;
}

std::size_t RequestLedger::cancel_where(Instant now,
                                        std::function<bool(RequestView const&)> const& chosen,
                                        CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [&](Entry const& entry) { return chosen(view(entry, nullptr)); }, mode, reason);
}

std::size_t RequestLedger::cancel_all(Instant now, CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [](Entry const&) { return true; }, mode, reason);
}

std::size_t RequestLedger::cancel_ungraceful(Instant now, EndpointTracker const& endpoints,
                                             CancelMode mode, CancelReason reason) {
  return cancel_matching(
      now, [&](Entry const& entry) { return !endpoints.at(entry.slot).graceful; }, mode, reason);
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
    Entry& entry = entries_[next.index];
    if (entry.generation != next.generation || !entry.used) {
      waiting.pop_front();  // ended before its cancel could be sent
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

bool RequestLedger::rise(Instant now, Entry& entry, CancelMode mode, CancelReason reason) {
  RequestState const wanted = state_of(mode);
  if (entry.state >= wanted) {
    return false;
  }
  bool const first = entry.state == RequestState::live;
  entry.state = wanted;
  if (first && entry.standing == Standing::waiting) {
    entry.standing = Standing::withdrawn;
    --waiting_;
    withdrawn.push_back(entry.ticket);
    entry.ticket = kNoTicket;
  }
  if (first) {
    entry.reason = reason;
    entry.cancelled_at = now;
    ++unconfirmed_;
    if (entry.counted) {
      cancelled.push_back({entry.slot, entry.model, entry.stream, reason, entry.from_tier});
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
    Entry& entry = entries_[current];
    if (!rise(now, entry, mode, current == index ? reason : CancelReason::parent)) {
      continue;  // its children have it already
    }
    ++raised;
    queue_cancel(current);
    for (Index child = entry.last_child; child != kNone; child = entries_[child].previous_sibling) {
      work_.push_back(child);  // last first: the stack turns them into link order
    }
  }
  return raised;
}

void RequestLedger::queue_cancel(Index index) {
  Entry& entry = entries_[index];
  Peer& peer = peers_[entry.peer];
  if (entry.queued || !peer.connected) {
    return;
  }
  entry.queued = true;
  peer.cancels.push_back({index, entry.generation});
  if (std::find(ready.begin(), ready.end(), entry.peer) == ready.end()) {
    ready.push_back(entry.peer);
  }
}

void RequestLedger::settle_confirm(Instant now, Entry& entry) {
  if (entry.state == RequestState::live || entry.confirmed) {
    return;
  }
  entry.confirmed = true;
  --unconfirmed_;
  if (entry.counted) {
    confirmed.push_back({entry.reason, now - entry.cancelled_at});
  }
}

}  // namespace lastcall::lifecycle
