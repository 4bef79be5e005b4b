#include "relay/exchange.hpp"

#include <utility>

namespace lastcall::relay {

using lifecycle::Outcome;

Exchange::Exchange(std::string id, Framing const& framing, Asked const& asked)
    : id_(std::move(id)), asked_(asked), request_(framing, asked) {}

// --- the engine's side ---------------------------------------------------------------------------

ResponseSide::Context Exchange::context(Time now, Surroundings const& world) const {
  return {.id = id_,
          .asked = asked_,
          .wants_stream = streaming_,
          .has_all_of_request = request_.is_done(),
          .now = now,
          .world = world};
}

Received Exchange::receive(std::span<char> bytes, Time now, Surroundings const& world,
                           std::string& wire) {
  return heed(response_.receive(bytes, context(now, world), wire));
}

Received Exchange::let_through(Time now, Surroundings const& world, std::string& wire) {
  return heed(response_.let_through(context(now, world), wire));
}

/// Applies what was received to the rest of the exchange.
Received Exchange::heed(Received const& received) {
  if (received.is_error) {
    outcome_ = Outcome::error;
  }
  if (received.closes) {
    after_ = request_.is_done() ? After::close : After::linger;
  }
  if (received.switched) {
    request_.switch_protocols();
    after_ = After::close;
  }
  return received;
}

bool Exchange::leg_is_clean(Received const& received) const {
  // An engine that answers early may read the rest of the body later, and would take a next request
  // on this connection for that rest. RFC 9112, 9.3.
  bool const has_all = request_.is_done() && request_.to_engine().waiting() == 0 &&
                       request_.to_engine().state() != ToEngine::State::broken;
  ResponseReader const& leg = response_.leg();
  return leg.keeps_alive() && has_all && !received.has_more &&
         delivery().state() != DeliveryState::cut &&
         leg.framing().kind != Framing::Kind::until_close;
}

bool Exchange::may_repeat(bool was_used) const {
  return response_.leg().has_nothing() && delivery().state() == DeliveryState::nothing &&
         response_.held_back().error() == nullptr && request_.to_engine().may_repeat(was_used);
}

// --- the client's side ---------------------------------------------------------------------------

void Exchange::refuse(Refusal const& refusal, Surroundings const& world, std::string& wire) {
  if (!request_.is_done()) {
    after_ = After::linger;
  } else if (!asked_.keeps_alive || asked_.version == Version::http10 || world.is_closing()) {
    // HTTP/1.0 waits for the close, unless a field keeps the connection open.
    after_ = After::close;
  }
  response_.delivery().refuse(
      refusal, {.request_id = id_, .close = after_ != After::keep, .head_only = asked_.is_head},
      wire);
}

Farewell Exchange::cut(Refusal const& refusal, Outcome outcome, Surroundings const& world,
                       std::string& wire) {
  std::uint64_t const events = response_.events_sent();
  response_.drop_held();
  if (delivery().state() == DeliveryState::nothing) {
    outcome_ = outcome;
    refuse(refusal, world, wire);
    return Farewell::refusal;
  }
  Farewell const farewell = response_.delivery().cut(refusal, id_, events, wire);
  if (farewell != Farewell::last_chunk) {
    outcome_ = outcome;
    after_ = request_.is_done() ? After::close : After::linger;
  }
  return farewell;
}

void Exchange::cut_silently(Outcome outcome) {
  response_.drop_held();
  outcome_ = outcome;
  after_ = After::close;
  response_.delivery().cut();
}

bool Exchange::is_ending_tunnel() const {
  return delivery().state() == DeliveryState::tunnel && request_.is_done();
}

Awaited Exchange::awaited(bool reads_request) const {
  if (is_ending_tunnel() && request_.to_engine().size() == 0) {
    return Awaited::tunnel_end;
  }
  if (request_.state() == RequestState::body && reads_request) {
    return Awaited::request;
  }
  bool const has_begun = delivery().state() > DeliveryState::opened;
  return has_begun ? Awaited::more : Awaited::first_byte;
}

}  // namespace lastcall::relay
