#include "core/request_book.hpp"

#include <algorithm>

#include "core/mixer.hpp"

namespace lastcall::lifecycle {

// --- figures -------------------------------------------------------------------------------------

std::size_t RequestBook::of_peer(PeerId peer) const {
  auto const found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.requests;
}

std::size_t RequestBook::unconfirmed_since(Instant then) const {
  std::size_t count = 0;
  for (Index i = counts_.unconfirmed == 0 ? kNone : slab_.oldest(); i != kNone;
       i = slab_[i].links.newer) {
    RequestEntry const& entry = slab_[i];
    count += entry.is_cancelled() && !entry.confirmed && entry.cancelled_at <= then;
  }
  return count;
}

std::optional<Instant> RequestBook::oldest() const {
  if (slab_.oldest() == kNone) {
    return std::nullopt;
  }
  Instant first = slab_[slab_.oldest()].began_at;
  for (Index i = counts_.with_age == 0 ? kNone : slab_.oldest(); i != kNone;
       i = slab_[i].links.newer) {
    first = std::min(first, slab_[i].began_at);
  }
  return first;
}

// --- one of them ---------------------------------------------------------------------------------

std::optional<AdmissionTicket> RequestBook::ticket_of(PeerId peer, std::string_view id) const {
  Index const index = slab_.find(peer, id);
  return index == kNone ? std::nullopt : std::optional(slab_[index].ticket);
}

bool RequestBook::answers_whole(PeerId peer, std::string_view id) const {
  Index const index = slab_.find(peer, id);
  return index != kNone && slab_[index].stream == false;
}

void RequestBook::for_each(std::function<void(RequestView const&)> const& visit,
                           EndpointTracker const& endpoints) const {
  for (Index i = slab_.oldest(); i != kNone; i = slab_[i].links.newer) {
    visit(view(i, &endpoints));
  }
}

RequestView RequestBook::view(Index index, EndpointTracker const* endpoints) const {
  RequestEntry const& entry = slab_[index];
  RequestView view;
  view.peer = entry.peer;
  view.id = entry.id;
  view.root = slab_.root_of(index);
  view.endpoint =
      endpoints != nullptr ? std::string_view(endpoints->at(entry.slot).name) : std::string_view();
  view.model = models_.name(entry.model);
  view.state = entry.state;
  if (entry.is_cancelled()) {
    view.reason = entry.reason;
  }
  view.began_at = entry.began_at;
  view.late = entry.late;
  if (entry.links.parent != kNone) {
    view.parent = slab_[entry.links.parent].id;
  }
  view.standing = entry.standing;
  return view;
}

// --- one that is to begin ------------------------------------------------------------------------

bool RequestBook::is_part(RequestBegun const& request) const {
  Index const whole = whole_of(request);
  return whole != kNone && slab_[whole].standing == Standing::running;
}

bool RequestBook::is_wanted(RequestBegun const& request) const {
  Index const whole = whole_of(request);
  return whole != kNone && !slab_[whole].is_cancelled();
}

RequestBook::Index RequestBook::whole_of(RequestBegun const& request) const {
  Index const parent = parent_of(request);
  if (parent != kNone || request.root.empty() || request.root == request.id) {
    return parent;
  }
  return find_parent(request, request.root);
}

/// An id may be live at several connections, for one user's request: the last one has the best
/// knowledge.
RequestBook::Index RequestBook::newest_of(std::string_view id, bool away) const {
  Index newest = kNone;
  for (auto const& [peer, state] : peers_) {
    if (peer == kIngressPeer || (away && state.connected)) {
      continue;
    }
    Index const index = slab_.find(peer, id);
    if (index != kNone && (newest == kNone || slab_[newest].peer < peer)) {
      newest = index;
    }
  }
  return newest;
}

RequestBook::Index RequestBook::find_relayed(RequestBegun const& request,
                                             std::string_view id) const {
  Index const index = slab_.find(kIngressPeer, id);
  bool const has_come_so =
      index != kNone && (!request.way || (*request.way != 0 && *request.way == slab_[index].way));
  return has_come_so ? index : kNone;
}

RequestBook::Index RequestBook::find_parent(RequestBegun const& request,
                                            std::string_view id) const {
  if (Index const own = slab_.find(request.peer, id); own != kNone) {
    return own;
  }
  Index const engines = newest_of(id, false);
  return engines == kNone ? find_relayed(request, id) : engines;
}

/// The parent that the request names; otherwise the request in the ingress that has the same id,
/// because it relayed this one, or that has the id of its root. A request that the ingress relays
/// has no parent here, because any client may have written its header.
RequestBook::Index RequestBook::parent_of(RequestBegun const& request) const {
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

RequestBook::Index RequestBook::orphan_of(RequestBegun const& request) const {
  if (request.peer == kIngressPeer || (!request.resumed && !request.admit)) {
    return kNone;
  }
  Index const orphan = newest_of(request.id, true);
  return orphan == kNone || request.resumed || slab_[orphan].asked ? orphan : kNone;
}

std::uint64_t fingerprint_of_requests(RequestBook const& book, EndpointTracker const& endpoints,
                                      std::map<PeerId, std::uint32_t> const& rank, Instant now) {
  std::uint64_t sum = 0;
  auto const add = [&](PeerId peer, auto const&... x) {
    Mixer one{now};
    auto const found = rank.find(peer);
    one.all(found == rank.end() ? UINT32_MAX : found->second, x...);
    sum += one.hash;
  };
  book.for_each(
      [&](RequestView const& view) {
        add(view.peer, view.id, view.root, view.endpoint, view.state, !view.parent.empty(),
            view.standing);
      },
      endpoints);
  endpoints.for_each([&](EndpointTracker::Endpoint const& e) {
    add(e.peer, std::string_view(e.name), e.graceful, e.registered, e.in_flight);
  });
  return sum;
}

}  // namespace lastcall::lifecycle
