// The ledger's slab, its tree links and its look-ups; request_ledger.cpp holds what they mean.
#include <algorithm>

#include "core/request_ledger.hpp"

namespace lastcall::lifecycle {
namespace {

/// An engine that ends a handed-off request says `cancelled`; what the user got is `migrated`. One
/// that was cut because the engine died ended by that, however its end was reported.
Outcome settle_outcome(std::optional<CancelReason> reason, Outcome reported) {
  bool const handed_off = reason == CancelReason::migrate || reason == CancelReason::grace_timeout;
  if (handed_off && reported == Outcome::cancelled) {
    return Outcome::migrated;
  }
  bool const failed = reported == Outcome::cancelled || reported == Outcome::error;
  return reason == CancelReason::engine_dead && failed ? Outcome::engine_dead : reported;
}

}  // namespace

std::size_t RequestLedger::KeyHash::operator()(Key const& key) const {
  return std::hash<std::string_view>{}(key.id) ^ (key.peer * 0x9e3779b97f4a7c15ULL);
}

/// All but the indexes, whose keys are views into the entries: each copy has its own.
RequestLedger::RequestLedger(RequestLedger const& other)
    : settled(other.settled),
      cancelled(other.cancelled),
      confirmed(other.confirmed),
      ready(other.ready),
      moved_from(other.moved_from),
      withdrawn(other.withdrawn),
      cut_off(other.cut_off),
      entries_(other.entries_),
      free_(other.free_),
      peers_(other.peers_),
      models_(other.models_),
      oldest_(other.oldest_),
      newest_(other.newest_),
      live_(other.live_),
      waiting_(other.waiting_),
      roots_(other.roots_),
      roots_begun_(other.roots_begun_),
      unconfirmed_(other.unconfirmed_) {
  for (Index i = oldest_; i != kNone; i = entries_[i].newer) {
    index_.emplace(Key{entries_[i].peer, entries_[i].id}, i);
    enter_root(i);
  }
}

// --- the table -----------------------------------------------------------------------------------

RequestLedger::Index RequestLedger::allocate() {
  Index index = 0;
  if (free_.empty()) {
    index = static_cast<Index>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[index];
  std::uint32_t const generation = entry.generation + 1;
  entry = Entry{};
  entry.generation = generation;
  entry.used = true;
  entry.older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = index;
  newest_ = index;
  return index;
}

void RequestLedger::remove(Instant now, Index index, Outcome outcome) {
  Entry& entry = entries_[index];
  std::optional<CancelReason> const reason =
      entry.state == RequestState::live ? std::nullopt : std::optional(entry.reason);
  if (reason && !entry.confirmed) {
    --unconfirmed_;
  }
  settled.push_back({entry.slot, entry.model, settle_outcome(reason, outcome), now - entry.began_at,
                     entry.counted, entry.from_tier, std::nullopt, entry.ticket});
  if (reason) {
    bool const is_kill = entry.state == RequestState::killed;
    cut_off.push_back({entry.id,
                       {.mode = is_kill ? CancelMode::kill : CancelMode::stop,
                        .relayed = entry.peer == kIngressPeer,
                        .way = entry.way}});
  }
  waiting_ -= entry.standing == Standing::waiting ? 1 : 0;
  if (entry.parent == kNone) {
    --roots_;
  } else {
    unlink(index);
  }
  for (Index child = entry.first_child; child != kNone;) {
    Index const next = entries_[child].next_sibling;
    entries_[child].parent = kNone;
    entries_[child].next_sibling = kNone;
    entries_[child].previous_sibling = kNone;
    ++roots_;
    child = next;
  }
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  if (auto const peer = peers_.find(entry.peer); peer != peers_.end()) {
    --peer->second.requests;
  }
  index_.erase(Key{entry.peer, entry.id});
  leave_root(index);
  entry.used = false;
  entry.id.clear();
  entry.root.clear();
  --live_;
  free_.push_back(index);
}

void RequestLedger::adopt(Index index, PeerId peer, EndpointSlot slot) {
  Entry& entry = entries_[index];
  index_.erase(Key{entry.peer, entry.id});
  --peers_[entry.peer].requests;
  moved_from.push_back(entry.slot);
  entry.peer = peer;
  entry.slot = slot;
  index_.emplace(Key{peer, entry.id}, index);
  ++peers_[peer].requests;
  if (entry.state != RequestState::live && !entry.confirmed) {
    queue_cancel(index);
  }
}

// --- admission -----------------------------------------------------------------------------------

void RequestLedger::hold(Index index, AdmissionTicket ticket, Standing standing) {
  Entry& entry = entries_[index];
  entry.ticket = ticket;
  entry.standing = standing;
  waiting_ += standing == Standing::waiting ? 1 : 0;
}

void RequestLedger::admitted(Index index) {
  entries_[index].standing = Standing::running;
  --waiting_;
}

void RequestLedger::refuse(Instant now, Index index, RejectedReason why) {
  entries_[index].ticket = kNoTicket;
  remove(now, index, Outcome::rejected);
  settled.back().rejected = why;
}

std::optional<AdmissionTicket> RequestLedger::ticket_of(PeerId peer, std::string_view id) const {
  Index const index = find(peer, id);
  return index == kNone ? std::nullopt : std::optional(entries_[index].ticket);
}

bool RequestLedger::answers_whole(PeerId peer, std::string_view id) const {
  Index const index = find(peer, id);
  return index != kNone && entries_[index].stream == false;
}

bool RequestLedger::is_part(RequestBegun const& request) const {
  Index whole = parent_of(request);
  if (whole == kNone && !request.root.empty() && request.root != request.id) {
    whole = find_parent(request, request.root);
  }
  return whole != kNone && entries_[whole].standing == Standing::running;
}

bool RequestLedger::is_wanted(RequestBegun const& request) const {
  Index whole = parent_of(request);
  if (whole == kNone && request.root != request.id) {
    whole = find_parent(request, request.root);
  }
  return whole != kNone && entries_[whole].state == RequestState::live;
}

// --- the tree ------------------------------------------------------------------------------------

void RequestLedger::link(Index parent, Index child) {
  Entry& above = entries_[parent];
  Entry& below = entries_[child];
  below.parent = parent;
  below.previous_sibling = above.last_child;
  (above.last_child == kNone ? above.first_child : entries_[above.last_child].next_sibling) = child;
  above.last_child = child;
}

void RequestLedger::unlink(Index child) {
  Entry& below = entries_[child];
  Entry& above = entries_[below.parent];
  (below.previous_sibling == kNone ? above.first_child
                                   : entries_[below.previous_sibling].next_sibling) =
      below.next_sibling;
  (below.next_sibling == kNone ? above.last_child : entries_[below.next_sibling].previous_sibling) =
      below.previous_sibling;
  below.parent = kNone;
}

std::size_t RequestLedger::unconfirmed_since(Instant then) const {
  std::size_t count = 0;
  for (Index i = unconfirmed_ == 0 ? kNone : oldest_; i != kNone; i = entries_[i].newer) {
    Entry const& entry = entries_[i];
    count += entry.state != RequestState::live && !entry.confirmed && entry.cancelled_at <= then;
  }
  return count;
}

// --- look-ups ------------------------------------------------------------------------------------

RequestLedger::Index RequestLedger::find(PeerId peer, std::string_view id) const {
  auto const found = index_.find(Key{peer, id});
  return found == index_.end() ? kNone : found->second;
}

/// An id may be live at several connections, for one user's request: the last one knows best.
template <typename Chosen>
RequestLedger::Index RequestLedger::newest_of(std::string_view id, Chosen const& chosen) const {
  Index newest = kNone;
  for (auto const& [peer, state] : peers_) {
    if (peer == kIngressPeer || !chosen(state)) {
      continue;
    }
    Index const index = find(peer, id);
    if (index != kNone && (newest == kNone || entries_[newest].peer < peer)) {
      newest = index;
    }
  }
  return newest;
}

/// That id of the ingress, unless the request is known to have come another way.
RequestLedger::Index RequestLedger::find_relayed(RequestBegun const& request,
                                                 std::string_view id) const {
  Index const index = find(kIngressPeer, id);
  bool const has_come_so =
      index != kNone &&
      (!request.way || (*request.way != 0 && *request.way == entries_[index].way));
  return has_come_so ? index : kNone;
}

RequestLedger::Index RequestLedger::find_parent(RequestBegun const& request,
                                                std::string_view id) const {
  if (Index const own = find(request.peer, id); own != kNone) {
    return own;
  }
  Index const engines = newest_of(id, [](Peer const&) { return true; });
  return engines == kNone ? find_relayed(request, id) : engines;
}

/// The parent that it names, else the request of the same id in the ingress, which relayed it, or
/// of its root. What the ingress relays has none here: its header may be anybody's.
RequestLedger::Index RequestLedger::parent_of(RequestBegun const& request) const {
  if (request.peer == kIngressPeer) {
    return kNone;
  }
  Index const named = request.parent.empty() ? kNone : find_parent(request, request.parent);
  if (named != kNone) {
    return named;
  }
  Index const relayed = find_relayed(request, request.id);
  return relayed != kNone || request.root.empty() ? relayed : find_relayed(request, request.root);
}

RequestLedger::Index RequestLedger::find_orphan(std::string_view id) const {
  return newest_of(id, [](Peer const& peer) { return !peer.connected; });
}

RequestLedger::Index RequestLedger::orphan_of(RequestBegun const& request) const {
  if (request.peer == kIngressPeer || (!request.resumed && !request.admit)) {
    return kNone;
  }
  Index const orphan = find_orphan(request.id);
  return orphan == kNone || request.resumed || entries_[orphan].asked ? orphan : kNone;
}

std::size_t RequestLedger::of_peer(PeerId peer) const {
  auto const found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.requests;
}

std::optional<Instant> RequestLedger::oldest() const {
  return oldest_ == kNone ? std::nullopt : std::optional(entries_[oldest_].began_at);
}

void RequestLedger::for_each(std::function<void(RequestView const&)> const& visit,
                             EndpointTracker const& endpoints) const {
  for (Index i = oldest_; i != kNone; i = entries_[i].newer) {
    visit(view(entries_[i], &endpoints));
  }
}

std::uint32_t RequestLedger::intern_model(std::string_view model) {
  // A server serves a handful of models; a peer that invents names shares the last place.
  constexpr std::size_t kMost = 256;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i] == model) {
      return static_cast<std::uint32_t>(i);
    }
  }
  if (models_.size() < kMost) {
    models_.emplace_back(models_.size() + 1 == kMost ? std::string_view("other") : model);
  }
  return static_cast<std::uint32_t>(models_.size() - 1);
}

bool RequestLedger::knows_model(std::string_view model) const {
  return std::find(models_.begin(), models_.end(), model) != models_.end();
}

std::string_view RequestLedger::root_of(Entry const& entry) {
  return entry.root.empty() ? std::string_view(entry.id) : std::string_view(entry.root);
}

RequestView RequestLedger::view(Entry const& entry, EndpointTracker const* endpoints) const {
  RequestView view;
  view.peer = entry.peer;
  view.id = entry.id;
  view.root = root_of(entry);
  view.endpoint =
      endpoints != nullptr ? std::string_view(endpoints->at(entry.slot).name) : std::string_view();
  view.model = models_[entry.model];
  view.state = entry.state;
  if (entry.state != RequestState::live) {
    view.reason = entry.reason;
  }
  view.began_at = entry.began_at;
  view.late = entry.late;
  view.child = entry.parent != kNone;
  view.standing = entry.standing;
  return view;
}

std::uint64_t fingerprint_of_requests(RequestLedger const& ledger, EndpointTracker const& endpoints,
                                      std::map<PeerId, std::uint32_t> const& rank, Instant now) {
  std::uint64_t sum = 0;
  auto const add = [&](PeerId peer, auto const&... x) {
    Mixer one{now};
    auto const found = rank.find(peer);
    one.all(found == rank.end() ? UINT32_MAX : found->second, x...);
    sum += one.hash;
  };
  ledger.for_each(
      [&](RequestView const& view) {
        add(view.peer, view.id, view.root, view.endpoint, view.state, view.child, view.standing);
      },
      endpoints);
  endpoints.for_each([&](EndpointTracker::Endpoint const& e) {
    add(e.peer, std::string_view(e.name), e.graceful, e.registered, e.in_flight);
  });
  return sum;
}

}  // namespace lastcall::lifecycle
