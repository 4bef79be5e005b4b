// The risk that a request may still be: how often it may move, whether engines may have died of it,
// and what all requests together may repeat.
//
// Rules:
//  1. An engine that dies is counted against each request that it had, once a request: after the
//     second one the request is given to no worker (`engine_died_twice`, `poison`).
//  2. A body is suspected by its hash, so that a client that sends it again finds it suspected
//     still; the hash is made only where a body is suspected or an engine has died.
//  3. Stalls, and requests that are repeated although a worker may still be at them, take from one
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
  /// It outlives this.
  explicit RequestRisk(Call const& call) : call_(call) {}

  /// Its body is whole. False: it is poison.
  bool begin(Time now);
  /// It goes last, one a worker at a time.
  bool is_suspect() const { return is_suspect_; }

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
  bool may_repeat();
  /// Its answer came to its end.
  void completed();

 private:
  SharedRisk& shared() const;
  std::uint64_t hash();

  Call const& call_;
  std::uint64_t hash_ = 0;
  continuation::MoveLimit moves_;
  bool has_hash_ = false;
  bool is_suspect_ = false;
};

/// 502, and not to be sent again.
relay::Refusal poisonous();

}  // namespace lastcall::router
