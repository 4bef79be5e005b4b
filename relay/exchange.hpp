// One exchange of HTTP/1.1: the request of one client, and the response that it gets. It takes
// bytes and the time, and returns bytes and orders; it has no socket, no clock and no loop.
//
// Theory of operation. Three machines move independently, each by its table: the request on its way
// to the engine (request_side.hpp); the response on one connection to an engine, which is called
// the *leg* (response_reader.hpp); and the delivery of the response to the client (delivery.hpp).
// response_side.hpp joins the last two. The rules that join both sides are here:
//  1. Whether the client's connection stays open after the exchange depends on both, and is settled
//     when the head goes out or the exchange is cut (After).
//  2. A leg that sent nothing may be replaced by another one, once; its connection carries another
//     request only when both sides are complete.
//  3. An exchange is refused before its head has gone out, and cut afterwards; a response that is
//     cut never looks finished.
//
// Its driver owns sockets and deadlines, and calls awaited() after each call to find what it waits
// for. Pure, no thread rule. Source: docs/ingress.md; RFC 9110 and 9112.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/vocabulary.hpp"
#include "relay/delivery.hpp"
#include "relay/http_head.hpp"
#include "relay/refusal.hpp"
#include "relay/request_reader.hpp"
#include "relay/request_side.hpp"
#include "relay/response_side.hpp"

namespace lastcall::relay {

/// The fate of the client's connection after the exchange.
enum class After : std::uint8_t {
  keep,
  close,
  linger,  // the client still sends, and is read until it has received our last bytes
};

/// The next thing that an exchange waits for.
enum class Awaited : std::uint8_t {
  request,     // the next part of the request
  first_byte,  // the first byte of the engine's work
  more,        // more of the response
  tunnel_end,  // the engine's end of a tunnel that its client has ended
};

class Exchange {
 public:
  using Time = std::chrono::milliseconds;

  Exchange(std::string id, Framing const& framing, Asked const& asked);

  std::string const& id() const { return id_; }
  RequestSide& request() { return request_; }
  RequestSide const& request() const { return request_; }
  /// The response must be notified of the end of its leg.
  ResponseSide& response() { return response_; }
  ResponseSide const& response() const { return response_; }
  Delivery const& delivery() const { return response_.delivery(); }
  After after() const { return after_; }
  lifecycle::Outcome outcome() const { return outcome_; }
  void set_outcome(lifecycle::Outcome outcome) { outcome_ = outcome; }
  /// Whether the request is for a stream.
  void set_streaming(bool streaming) { streaming_ = streaming; }

  // --- the engine's side: `wire` gets what goes to the client ---
  Received receive(std::span<char> bytes, Time now, Surroundings const& world, std::string& wire);
  Received let_through(Time now, Surroundings const& world, std::string& wire);
  bool engine_has_begun(std::span<char> bytes) {
    return response_.engine_has_begun(bytes, asked_, streaming_);
  }
  /// Whether the leg's connection may carry another request.
  bool leg_is_clean(Received const& received) const;
  /// Whether the request may be sent again, when the leg has ended or accepts nothing. `was_used`:
  /// the leg's connection carried a request before this one.
  bool may_repeat(bool was_used) const;

  // --- the client's side ---
  /// Refuses the request instead of sending a response; nothing was sent yet.
  void refuse(Refusal const& refusal, Surroundings const& world, std::string& wire);
  Farewell cut(Refusal const& refusal, lifecycle::Outcome outcome, Surroundings const& world,
               std::string& wire);
  /// Ends the exchange without a client to notify.
  void cut_silently(lifecycle::Outcome outcome);
  /// Whether the client of a tunnel has ended it.
  bool is_ending_tunnel() const;
  /// `reads_request`: there is room for more of the request.
  Awaited awaited(bool reads_request) const;

 private:
  ResponseSide::Context context(Time now, Surroundings const& world) const;
  Received heed(Received const& received);

  std::string const id_;
  Asked const asked_;
  bool streaming_ = false;
  After after_ = After::keep;
  lifecycle::Outcome outcome_ = lifecycle::Outcome::completed;
  RequestSide request_;
  ResponseSide response_;
};

}  // namespace lastcall::relay
