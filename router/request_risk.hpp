// The risk that a request may still be: how often it may move, whether engines may have died of it,
// and what all requests together may repeat.
//
// Rules:
//  1. An engine that dies is counted against each request that it had, once a request: after the
//     second one the request is given to no worker (`engine_died_twice`, `poison`).
//  2. An engine is dead where its connection breaks or ends with an answer that has no end, or where
//     its ingress reports it. One that sends what is no HTTP has spoken, and lives.
//  3. A request is suspected by a hash of its target, model and body, so that a client that sends it
//     again finds it suspected still; the hash is made only where one is suspected or an engine has
//     died.
//  4. Stalls, and requests that are repeated although a worker may still be at them, take from one
//     budget.
//
// Thread rule: the router's thread. Source: docs/router.md, 'What may not spread';
// router/continuation/limits.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "relay/refusal.hpp"
#include "router/call.hpp"
#include "router/continuation/limits.hpp"
#include "router/fleet.hpp"

namespace lastcall::router {

/// That of all requests.
struct SharedRisk {
  continuation::Suspects suspects;
  continuation::RecentDeaths deaths;
  continuation::RetryBudget budget;
};

class RequestRisk {
 public:
  /// Both outlive it.
  RequestRisk(SharedRisk& shared, Call const& call) : shared_(shared), call_(call) {}

  /// Its body is whole. False: it is poison.
  bool begin(Time now);
  /// It goes last, one a worker at a time.
  bool is_suspect() const { return is_suspect_; }
  /// It is a suspect, and has become poison since, by what another one like it has met.
  bool is_poison(Time now);

  /// It goes to an engine: deaths that are known from now on may have been that one's.
  void sent() { known_ = shared_.deaths.last(); }
  /// An engine has died that had it; `has_begun`: and had sent something of its answer. Returns a
  /// word where it may not be given to another one.
  continuation::Refused died(Worker const& worker, bool has_begun, Time now);
  /// A leg of an answer that has begun is to be replaced; `reason`: of Received.
  continuation::Refused moved(std::string_view reason, Worker const& worker, bool has_begun,
                              Time now);
  /// Whether moved() would allow it; nothing is counted.
  bool may_move(std::string_view reason) const {
    return moves_.has(continuation::cause_of(reason));
  }
  /// It is sent once more, and a worker may still be at it.
  bool may_repeat() { return shared_.budget.take(); }
  /// Its answer came to its end.
  void completed();

 private:
  std::uint64_t hash();

  SharedRisk& shared_;
  Call const& call_;
  continuation::MoveLimit moves_;
  bool is_suspect_ = false;
  continuation::DeathNumber known_ = 0;  // the last one when it was sent to its worker
  std::uint64_t hash_ = 0;               // 0: it is not made yet
};

/// 502, and not to be sent again.
relay::Refusal poisonous();

}  // namespace lastcall::router
