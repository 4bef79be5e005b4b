// The limits on the risk of a request: how often it may move, whether engines may have died of it,
// and what all requests together may repeat.
//
// Rules:
//  1. An engine's death counts against each request that it had, once per request: after the
//     second death no worker gets the request (`engine_died_twice`, `poison`).
//  2. An engine is dead if its connection breaks or ends with an answer that has no end, or if its
//     ingress reports it. One that sends what is not HTTP has answered, and lives.
//  3. A request is suspected by a hash of its target, model and body, so that it is still suspect
//     if its client sends it again; the hash is computed only if a request is suspect or an engine
//     has died.
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

/// The risk that all requests share.
struct SharedRisk {
  continuation::Suspects suspects;
  continuation::RecentDeaths deaths;
  continuation::RetryBudget budget;
};

class RequestRisk {
 public:
  /// It outlives this.
  explicit RequestRisk(Call const& call) : call_(call) {}

  /// Its body is complete. Returns false if it is poison.
  bool begin(Time now);
  /// Whether it goes last, one at a time per worker.
  bool is_suspect() const { return is_suspect_; }
  /// Whether a suspect has become poison since, because an equal request met another death.
  bool is_poison(Time now);

  /// It goes to an engine: deaths that become known from now on may be that engine's.
  void sent();
  /// An engine that had it has died; `has_begun`: it had sent a part of the answer. Returns a word
  /// if no other worker may get it.
  continuation::Refused died(Worker const& worker, bool has_begun, Time now);
  /// A leg of an answer that has begun must be replaced; `reason` is that of Received.
  continuation::Refused moved(std::string_view reason, Worker const& worker, bool has_begun,
                              Time now);
  /// Whether moved() would allow it; nothing is counted.
  bool may_move(std::string_view reason) const {
    return moves_.has(continuation::cause_of(reason));
  }
  /// It is sent once more although a worker may still work on it.
  bool may_repeat();
  /// Its answer came to its end.
  void completed();

 private:
  SharedRisk& shared() const;
  std::uint64_t hash();

  Call const& call_;
  std::uint64_t hash_ = 0;               // 0: it is not made yet
  continuation::DeathNumber known_ = 0;  // the last one when it was sent to its worker
  continuation::MoveLimit moves_;
  bool is_suspect_ = false;
};

/// The answer to poison: 502, with a hint not to send it again.
relay::Refusal poisonous();

}  // namespace lastcall::router
