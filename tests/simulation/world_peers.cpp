// SDK peers and the ingress; their requests are in world_requests.cpp.
#include <algorithm>

#include "tests/simulation/words.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {
using namespace lifecycle;

bool World::happen_to_peers(Entry const& e) {
  std::uint32_t const number = e.a % kPeers;
  Peer& peer = peers_[number];
  if (e.what == What::peer_joins) {
    if (!peer.alive) {
      peer.alive = true;
      peer.number = number;
      connect_peer(number);
    }
  } else if (e.what == What::peer_drops) {
    drop_peer(number, e.b);
  } else if (e.what == What::peer_dies) {
    kill_peer(number);
  } else if (e.what == What::peer_returns) {
    connect_peer(number);
  } else if (e.what == What::peer_fatal) {
    if (peer.connected) {
      notify(PeerFatal{.peer = peer.conn, .reason = "engine_dead", .detail = "traceback"});
    }
  } else if (e.what == What::load_told) {
    bool const by_gauges = e.c != 0;
    if (by_gauges ? supervisor_up_ : peer.connected) {
      notify(LoadReported{.peer = by_gauges ? std::nullopt : std::optional(peer.conn),
                          .rank = by_gauges ? 0 : number,
                          .active_decode_blocks = e.b,
                          .kv_total_blocks = 100,
                          .active_prefill_tokens = {}});
    }
  } else if (e.what == What::limits_change) {
    AdmissionLimits limits = plan_.settings.admission;
    limits.running = e.a;
    limits.waiting = e.b;
    if (supervisor_up_) {
      notify(AdmissionLimitsChanged{.limits = limits});
    }
  } else if (e.what == What::endpoint_vanishes) {
    if (peer.connected) {
      notify(EndpointUnregistered{.peer = peer.conn, .endpoint = kPeerEndpoints[e.b % 2]});
    }
  } else if (e.what == What::sdk_says) {
    if (e.a == life_ && peers_[e.b].connected) {
      notify(PeerCleanedUp{peers_[e.b].conn});
    }
  } else {
    return false;
  }
  return true;
}

void World::connect_peer(std::uint32_t number) {
  Peer& peer = peers_[number];
  if (!peer.alive || peer.connected || !supervisor_up_) {
    return;
  }
  peer.connected = true;
  peer.conn = next_conn_++;
  bool const mine = true;
  auto const is_live = [&](Request const& r) { return r.live && (r.peer == number) == mine; };
  auto const live = std::count_if(requests_.begin(), requests_.end(),
                                  [&](Request const& r) { return is_live(r) && !r.waits; });
  notify(PeerConnected{.peer = peer.conn,
                       .name = "worker" + std::to_string(number),
                       .critical = plan_.manners.critical_peers,
                       .watched = plan_.manners.watched_peers,
                       .live = static_cast<std::uint32_t>(live)});
  notify(EndpointRegistered{.peer = peer.conn, .endpoint = kPeerEndpoints[0], .graceful = true});
  notify(EndpointRegistered{.peer = peer.conn, .endpoint = kPeerEndpoints[1], .graceful = false});
  for (Request& request : requests_) {
    if (is_live(request) && !request.waits) {
      tell_begin(request, true);
      request.announced = true;
      request.cancelled = false;
    }
  }
  for (Request& request : requests_) {
    if (is_live(request) && request.waits) {  // asks again
      tell_begin(request, false);
      request.announced = true;
    }
  }
}

/// A part of the supervisor: its endpoints are in the config, and what it relays dies with it.
void World::start_ingress() {
  if (!plan_.manners.relays) {
    return;
  }
  peers_[kRelay] = {.conn = kIngressPeer, .alive = true, .connected = true, .number = kRelay};
  for (std::size_t i = 0; i < 2; ++i) {
    notify(EndpointRegistered{
        .peer = kIngressPeer, .endpoint = kPeerEndpoints[i], .graceful = i == 0});
  }
}

void World::drop_peer(std::uint32_t number, std::uint32_t away_ms) {
  Peer& peer = peers_[number];
  if (!peer.connected) {
    return;
  }
  peer.connected = false;
  notify(PeerDisconnected{peer.conn});
  if (away_ms != 0) {
    after(away_ms, What::peer_returns, number);
  }
}

void World::kill_peer(std::uint32_t number) {
  Peer& peer = peers_[number];
  if (!peer.alive) {
    return;
  }
  bool const was_connected = peer.connected;
  peer.alive = peer.connected = false;
  for (Request& request : requests_) {
    request.live = request.live && request.peer != number;
  }
  if (was_connected) {
    notify(PeerDisconnected{peer.conn});
  }
  if (plan_.manners.watched_peers) {
    notify(PeerGone{peer.conn});
  }
}

}  // namespace lastcall::simulation
