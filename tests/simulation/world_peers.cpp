// SDK peers and their requests.
#include <algorithm>

#include "tests/simulation/words.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {
namespace {

constexpr std::array kEndpoints{"generate", "decode", ""};

}  // namespace

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
      tell(PeerFatal{.peer = peer.conn, .reason = "engine_dead", .detail = "traceback"});
    }
  } else if (e.what == What::load_told) {
    if (peer.connected) {
      tell(LoadReported{.peer = peer.conn,
                        .rank = number,
                        .active_decode_blocks = e.b,
                        .kv_total_blocks = 100,
                        .active_prefill_tokens = {}});
    }
  } else if (e.what == What::limits_change) {
    AdmissionLimits limits = plan_.settings.admission;
    limits.running = e.a;
    limits.waiting = e.b;
    if (supervisor_up_) {
      tell(AdmissionLimitsChanged{.limits = limits});
    }
  } else if (e.what == What::endpoint_vanishes) {
    if (peer.connected) {
      tell(EndpointUnregistered{.peer = peer.conn, .endpoint = kEndpoints[e.b % 2]});
    }
  } else if (e.what == What::sdk_says) {
    if (e.a == life_ && peers_[e.b].connected) {
      tell(PeerCleanedUp{peers_[e.b].conn});
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
  tell(PeerConnected{.peer = peer.conn,
                     .name = "worker" + std::to_string(number),
                     .critical = plan_.manners.critical_peers,
                     .watched = plan_.manners.watched_peers,
                     .live = static_cast<std::uint32_t>(live)});
  tell(EndpointRegistered{.peer = peer.conn, .endpoint = kEndpoints[0], .graceful = true});
  tell(EndpointRegistered{.peer = peer.conn, .endpoint = kEndpoints[1], .graceful = false});
  for (Request& request : requests_) {
    if (is_live(request) && !request.waits) {
      tell_begin(request, true);
      request.told = true;
      request.cancelled = false;
    }
  }
  for (Request& request : requests_) {
    if (is_live(request) && request.waits) {  // asks again
      tell_begin(request, false);
      request.told = true;
    }
  }
}

void World::drop_peer(std::uint32_t number, std::uint32_t away_ms) {
  Peer& peer = peers_[number];
  if (!peer.connected) {
    return;
  }
  peer.connected = false;
  tell(PeerDisconnected{peer.conn});
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
    tell(PeerDisconnected{peer.conn});
  }
  if (plan_.manners.watched_peers) {
    tell(PeerGone{peer.conn});
  }
}

bool World::happen_to_requests(Entry const& e) {
  if (e.what == What::request_begins) {
    begin_request(e);
    return true;
  }
  bool const known = e.a < requests_.size();
  Request* const request = known ? &requests_[e.a] : nullptr;
  bool const reachable = known && peers_[request->peer].connected && request->told;
  PeerId const conn = known ? peers_[request->peer].conn : 0;
  CancelMode const mode = e.b % 2 == 0 ? CancelMode::stop : CancelMode::kill;
  if (e.what == What::request_ends) {
    if (known && request->live) {
      end_request(e.a, static_cast<Outcome>(e.b));
    }
  } else if (e.what == What::repeat_end) {
    if (reachable && !request->live) {
      tell(RequestEnded{.peer = conn, .id = request->id, .outcome = Outcome::completed});
    }
  } else if (e.what == What::cancel_done) {
    if (reachable && request->live) {
      tell(CancelConfirmed{.peer = conn, .id = request->id});
    }
  } else if (e.what == What::operator_cancels) {
    if (known) {
      tell(CancelRequested{.by = {},
                           .ids = {request->id},
                           .root = {},
                           .mode = mode,
                           .reason = CancelReason::operator_});
    }
  } else if (e.what == What::peer_cancels) {
    if (reachable) {
      tell(CancelRequested{.by = conn,
                           .ids = {request->id},
                           .root = {},
                           .mode = mode,
                           .reason = CancelReason::client_disconnect});
    }
  } else if (e.what == What::progress) {
    if (reachable && request->live) {
      tell(RequestProgressed{.peer = conn, .ids = {request->id}});
    }
  } else {
    return false;
  }
  return true;
}

void World::begin_request(Entry const& e) {
  Peer& peer = peers_[e.a % kPeers];
  if (!peer.alive) {
    return;
  }
  Request request;
  request.peer = e.a % kPeers;
  request.bits = e.c;
  request.id = "r" + std::to_string(requests_.size());
  request.live = true;
  request.ends_at = now_ + Duration{e.b};
  if ((e.c & kRequestChild) != 0) {
    for (std::uint32_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].live && requests_[i].peer == request.peer) {
        request.parent = i;
      }
    }
  }
  auto const number = static_cast<std::uint32_t>(requests_.size());
  at(request.ends_at, What::request_ends, number, static_cast<std::uint32_t>(Outcome::completed));
  requests_.push_back(std::move(request));
  requests_.back().waits = (e.c & kRequestAdmit) != 0;
  if (peer.connected) {
    requests_.back().told = true;
    tell_begin(requests_.back(), false);
  }
}

void World::answer(PeerId conn, std::string_view id, bool admitted) {
  for (Request& request : requests_) {
    Peer const& peer = peers_[request.peer];
    if (request.id == id && request.waits && peer.connected && peer.conn == conn) {
      request.waits = false;
      request.live = request.live && admitted;
    }
  }
}

void World::tell_begin(Request const& request, bool resumed) {
  RequestBegun begun;
  begun.peer = peers_[request.peer].conn;
  begun.id = request.id;
  begun.endpoint = kEndpoints[request.bits & kRequestEndpoint];
  begun.model = "m";
  if (request.parent != kNever && requests_[request.parent].live) {
    begun.parent = requests_[request.parent].id;
    begun.root = begun.parent;
  }
  begun.admit = !resumed && (request.bits & kRequestAdmit) != 0;
  begun.priority = static_cast<std::uint8_t>(request.bits >> kRequestPriorityShift & 7U);
  begun.resumed = resumed;
  tell(std::move(begun));
}

void World::end_request(std::uint32_t number, Outcome outcome) {
  Request& request = requests_[number];
  request.live = false;
  Peer const& peer = peers_[request.peer];
  if (peer.connected && request.told) {
    tell(RequestEnded{.peer = peer.conn, .id = request.id, .outcome = outcome});
  }
}

void World::take_cancels(Lifecycle& core, PeerId conn) {
  auto const peer = std::find_if(peers_.begin(), peers_.end(),
                                 [&](Peer const& p) { return p.connected && p.conn == conn; });
  if (peer == peers_.end()) {
    return;
  }
  taken_.push_back(conn);
  while (true) {
    CancelBatch const batch = core.take_cancels(conn, 2);
    if (batch.ids.empty()) {
      return;
    }
    for (std::string_view const id : batch.ids) {
      delivered_.push_back({conn, std::string(id), batch.mode, batch.reason});
      for (Request& request : requests_) {
        if (request.live && request.id == id) {
          reach(request, batch.mode);
        }
      }
    }
  }
}

/// What an engine does with a cancel: confirm and end, end, or go on.
void World::reach(Request& request, CancelMode mode) {
  bool const ignores = (request.bits & kRequestIgnoresAll) != 0 ||
                       ((request.bits & kRequestIgnoresStop) != 0 && mode == CancelMode::stop);
  if (request.waits) {  // it raises where it waits, at once
    after(1, What::request_ends, static_cast<std::uint32_t>(&request - requests_.data()),
          static_cast<std::uint32_t>(Outcome::cancelled));
    return;
  }
  if (ignores || (request.cancelled && request.reached >= mode)) {
    return;
  }
  request.cancelled = true;
  request.reached = mode;
  auto const number = static_cast<std::uint32_t>(&request - requests_.data());
  std::uint32_t const ms = plan_.manners.cancel_ms;
  if ((request.bits & kRequestConfirms) != 0) {
    after(ms / 2, What::cancel_done, number);
  }
  after(ms, What::request_ends, number, static_cast<std::uint32_t>(Outcome::cancelled));
}

}  // namespace lastcall::simulation
