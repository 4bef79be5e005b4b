// The requests of peers and of the ingress.
#include <algorithm>

#include "tests/simulation/words.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {
using namespace lifecycle;

bool World::happen_to_requests(Entry const& e) {
  if (e.what == What::request_begins) {
    begin_request(e);
    return true;
  }
  bool const known = e.a < requests_.size();
  Request* const request = known ? &requests_[e.a] : nullptr;
  bool const reachable = known && peers_[request->peer].connected && request->announced;
  PeerId const conn = known ? peers_[request->peer].conn : 0;
  CancelMode const mode = e.b % 2 == 0 ? CancelMode::stop : CancelMode::kill;
  if (e.what == What::request_ends) {
    if (known && request->live) {
      end_request(e.a, static_cast<Outcome>(e.b));
    }
  } else if (e.what == What::repeat_end) {
    if (reachable && !request->live) {
      notify(RequestEnded{.peer = conn, .id = request->id, .outcome = Outcome::completed});
    }
  } else if (e.what == What::cancel_done) {
    if (reachable && request->live) {
      notify(CancelConfirmed{.peer = conn, .id = request->id});
    }
  } else if (e.what == What::operator_cancels) {
    if (known) {
      notify(CancelRequested{.by = {},
                             .ids = {request->id},
                             .root = {},
                             .mode = mode,
                             .reason = CancelReason::operator_});
    }
  } else if (e.what == What::peer_cancels) {
    if (reachable) {
      notify(CancelRequested{.by = conn,
                             .ids = {request->id},
                             .root = {},
                             .mode = mode,
                             .reason = CancelReason::client_disconnect});
    }
  } else if (e.what == What::progress) {
    if (reachable && request->live) {
      notify(RequestProgressed{.peer = conn, .ids = {request->id}});
    }
  } else {
    return false;
  }
  return true;
}

void World::begin_request(Entry const& e) {
  std::uint32_t const from = e.a % static_cast<std::uint32_t>(peers_.size());
  Peer const& peer = peers_[from];
  if (!peer.alive) {
    return;
  }
  Request request;
  request.peer = from;
  request.bits = e.c;
  name_request(request);
  request.live = true;
  request.ends_at = now_ + Duration{e.b};
  if ((e.c & kRequestChild) != 0 && request.root.empty()) {
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
    requests_.back().announced = true;
    tell_begin(requests_.back(), false);
  }
}

/// The part of a relayed request that the engine sees carries its id.
void World::name_request(Request& request) {
  request.id = "r" + std::to_string(requests_.size());
  bool const by_root = (request.bits & kRequestServesByRoot) != 0;
  if ((request.bits & (kRequestServes | kRequestServesByRoot)) == 0) {
    return;
  }
  for (Request const& other : requests_) {
    // One that is over by now, too: an engine may announce it after its client has left.
    bool const is_relayed = other.peer == kRelay && !other.waits;
    bool const is_taken = std::any_of(requests_.begin(), requests_.end(), [&](Request const& r) {
      return r.peer == request.peer && r.live && r.id == other.id;
    });
    if (is_relayed && (by_root || !is_taken)) {
      request.root = other.id;
    }
  }
  if (!by_root && !request.root.empty()) {
    request.id = request.root;
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
  begun.endpoint = kPeerEndpoints[request.bits & kRequestEndpoint];
  begun.model = "m";
  if (request.parent != kNever && requests_[request.parent].live) {
    begun.parent = requests_[request.parent].id;
    begun.root = begun.parent;
  } else if (request.root != request.id) {
    begun.root = request.root;
  }
  begun.admit = !resumed && (request.bits & kRequestAdmit) != 0;
  begun.priority = static_cast<std::uint8_t>(request.bits >> kRequestPriorityShift & 7U);
  begun.resumed = resumed;
  notify(std::move(begun));
}

void World::end_request(std::uint32_t number, Outcome outcome) {
  Request& request = requests_[number];
  request.live = false;
  Peer const& peer = peers_[request.peer];
  if (peer.connected && request.announced) {
    notify(RequestEnded{.peer = peer.conn, .id = request.id, .outcome = outcome});
  }
}

void World::take_cancels(Lifecycle& core, PeerId conn) {
  auto const peer = std::find_if(peers_.begin(), peers_.end(),
                                 [&](Peer const& p) { return p.connected && p.conn == conn; });
  if (peer == peers_.end()) {
    return;
  }
  taken_.push_back(conn);
  read_cancels(core, conn, 2, [&](Delivered const& cancel) {
    delivered_.push_back(cancel);
    for (Request& request : requests_) {
      if (request.live && request.id == cancel.id && &peers_[request.peer] == &*peer) {
        reach(request, cancel.mode);
      }
    }
  });
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
