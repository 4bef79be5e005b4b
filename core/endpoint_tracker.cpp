#include "core/endpoint_tracker.hpp"

#include "core/check.hpp"

namespace lastcall::lifecycle {

EndpointSlot EndpointTracker::slot(PeerId peer, std::string_view name) {
  auto const found = index_.find(KeyView{peer, name});
  if (found != index_.end()) {
    return found->second;
  }
  EndpointSlot slot = 0;
  if (free_.empty()) {
    slot = static_cast<EndpointSlot>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = Endpoint{.peer = peer, .name = std::string(name)};
  index_.emplace(Key{peer, std::string(name)}, slot);
  return slot;
}

bool EndpointTracker::register_endpoint(PeerId peer, std::string_view name, bool graceful) {
  if (registered_ >= kMostRegistered) {
    auto const found = index_.find(KeyView{peer, name});
    if (found == index_.end() || !slots_[found->second].registered) {
      return false;
    }
  }
  Endpoint& endpoint = slots_[slot(peer, name)];
  registered_ += endpoint.registered ? 0 : 1;
  endpoint.registered = true;
  endpoint.withdrawn = false;
  set_graceful(endpoint, graceful);
  return true;
}

bool EndpointTracker::unregister_endpoint(PeerId peer, std::string_view name) {
  auto const found = index_.find(KeyView{peer, name});
  if (found == index_.end() || !slots_[found->second].registered) {
    return false;
  }
  --registered_;
  slots_[found->second].registered = false;
  slots_[found->second].withdrawn = true;
  release_if_unused(found->second);
  return true;
}

void EndpointTracker::peer_forgotten(PeerId peer) {
  std::vector<EndpointSlot> mine;
  for (auto it = index_.lower_bound(KeyView{peer, {}});
       it != index_.end() && it->first.first == peer; ++it) {
    mine.push_back(it->second);
  }
  for (EndpointSlot const slot : mine) {
    registered_ -= slots_[slot].registered ? 1 : 0;
    slots_[slot].registered = false;
    slots_[slot].forgotten = true;
    release_if_unused(slot);
  }
}

void EndpointTracker::enter(EndpointSlot slot) {
  Endpoint& endpoint = slots_[slot];
  if (endpoint.in_flight++ == 0 && endpoint.graceful) {
    ++active_graceful_;
  }
  ungraceful_in_flight_ += endpoint.graceful ? 0 : 1;
}

void EndpointTracker::leave(EndpointSlot slot) {
  Endpoint& endpoint = slots_[slot];
  LC_ASSERT(endpoint.in_flight > 0);
  ungraceful_in_flight_ -= endpoint.graceful ? 0 : 1;
  if (--endpoint.in_flight == 0) {
    if (endpoint.graceful) {
      --active_graceful_;
    }
    release_if_unused(slot);
  }
}

void EndpointTracker::set_graceful(Endpoint& endpoint, bool graceful) {
  if (endpoint.graceful == graceful) {
    return;
  }
  endpoint.graceful = graceful;
  if (endpoint.in_flight == 0) {
    return;
  }
  if (graceful) {
    ++active_graceful_;
    ungraceful_in_flight_ -= endpoint.in_flight;
  } else {
    --active_graceful_;
    ungraceful_in_flight_ += endpoint.in_flight;
  }
}

void EndpointTracker::release_if_unused(EndpointSlot slot) {
  Endpoint& endpoint = slots_[slot];
  if (endpoint.registered || endpoint.in_flight > 0 ||
      (!endpoint.forgotten && slots_.size() <= kUndeclaredMax)) {
    return;
  }
  index_.erase(index_.find(KeyView{endpoint.peer, endpoint.name}));
  endpoint.peer = 0;  // the name stays readable until the slot is used again
  endpoint.forgotten = false;
  free_.push_back(slot);
}

}  // namespace lastcall::lifecycle
