// Tracks which endpoints hold a drain: the `graceful_shutdown` flag of each, and what is in flight
// on it.
//
// Invariants:
//  1. A slot lives until its peer is forgotten and nothing is in flight on it, so that a request on
//     a known endpoint allocates nothing. Undeclared names are bounded by kUndeclaredMax.
//  2. active_graceful() counts endpoints, not requests: graceful slots with work in flight.
//  3. An endpoint that was never registered is graceful: losing work is never the default.
//
// Owned by the core's thread. Source: specification, 'Phase 2': endpoints with
// graceful_shutdown true are tracked, those with false are not.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event.hpp"

namespace lastcall::lifecycle {

using EndpointSlot = std::uint32_t;

/// Above this many slots, undeclared endpoints without work are released at once.
inline constexpr std::size_t kUndeclaredMax = 1024;

/// The limit of registered endpoints of all peers together; a server has about a dozen.
inline constexpr std::size_t kMostRegistered = 1024;

class EndpointTracker {
 public:
  struct Endpoint {
    PeerId peer = 0;
    std::string name;
    bool graceful = true;
    bool registered = false;
    bool withdrawn = false;  // it was registered, and is no longer
    bool forgotten = false;  // its peer is gone: the slot is released with the last request
    std::uint32_t in_flight = 0;
  };

  /// Returns false if there are kMostRegistered already and this is not one of them.
  bool register_endpoint(PeerId peer, std::string_view name, bool graceful);
  /// Returns false if the peer had not registered it.
  bool unregister_endpoint(PeerId peer, std::string_view name);
  void peer_forgotten(PeerId peer);

  /// The slot of an endpoint; an unknown one gets a new, graceful slot.
  EndpointSlot slot(PeerId peer, std::string_view name);
  void enter(EndpointSlot slot);
  void leave(EndpointSlot slot);

  Endpoint const& at(EndpointSlot slot) const { return slots_[slot]; }
  std::uint32_t active_graceful() const { return active_graceful_; }
  /// Requests in flight on endpoints that do not hold a drain.
  std::size_t ungraceful_in_flight() const { return ungraceful_in_flight_; }

  /// Live endpoints in the order in which they were first seen.
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    for (Endpoint const& e : slots_) {
      if (e.registered || e.in_flight > 0) {
        visit(e);
      }
    }
  }

 private:
  using Key = std::pair<PeerId, std::string>;
  using KeyView = std::pair<PeerId, std::string_view>;
  struct Before {
    using is_transparent = void;
    static KeyView view(Key const& key) { return {key.first, key.second}; }
    static KeyView view(KeyView key) { return key; }
    bool operator()(auto const& a, auto const& b) const { return view(a) < view(b); }
  };

  void set_graceful(Endpoint& endpoint, bool graceful);
  void release_if_unused(EndpointSlot slot);

  std::deque<Endpoint> slots_;  // stable: views of names are handed out
  std::vector<EndpointSlot> free_;
  std::map<Key, EndpointSlot, Before> index_;
  std::size_t registered_ = 0;
  std::uint32_t active_graceful_ = 0;
  std::size_t ungraceful_in_flight_ = 0;
};

}  // namespace lastcall::lifecycle
