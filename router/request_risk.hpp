// The limits on the risk of a request: how often it may move, whether it may have killed engines,
// and how much all requests together may repeat.
//
// Rules:
//  1. An engine's death counts once against each request that the engine had; after a second death
//     no worker gets the request (`engine_died_twice`, `poison`).
//  2. An engine is dead if its connection breaks, if the connection ends before the answer does, or
//     if its ingress reports the death. An engine that sends something other than HTTP has
//     answered, so it is alive.
//  3. A suspect request is identified by a hash of its target, model and body, so that it is still
//     suspect if its client sends it again; the hash is computed only if a request is suspect or an
//     engine has died.
//  4. Moves because of stalls, and repetitions of requests on which a worker may still be working,
//     draw on one budget.
//
// Thread rule: the router's thread. Source: docs/router.md, 'How failures are contained';
// router/continuation/limits.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "relay/refusal.hpp"
#include "router/call.hpp"
#include "router/continuation/limits.hpp"
#include "router/fleet.hpp"

namespace lastcall::router {

/// The state that all requests share.
struct SharedRisk {
  continuation::Suspects suspects;
  continuation::RecentDeaths deaths;
  continuation::RetryBudget budget;
};

/// A request that kills its engine does so soon after the engine has begun with it. The time in
/// which it waits at its worker counts, because the router does not see it.
inline constexpr Time kSurvived = std::chrono::seconds(5);

/// Whether an engine that has died had begun with the answer.
enum class Begun : std::uint8_t {
  no,
  perhaps,  // the answer comes in one piece, and the engine had the request for kSurvived
  yes,
};

class RequestRisk {
 public:
  /// The call outlives this.
  explicit RequestRisk(Call const& call) : call_(call) {}

  /// Called when the body is complete. Returns false if the request is poison.
  bool begin(Time now);
  /// Whether the request is sent after all others, one at a time per worker.
  bool is_suspect() const { return is_suspect_; }
  /// Whether a request that may have ended an engine has become poison since begin(), because an
  /// equal request was in flight at another death.
  bool is_poison(Time now);

  /// Called when the request is sent to an engine: deaths that become known from now on may be that
  /// engine's.
  void sent(Time now);
  /// Whether its engine has had the request for so long that it works on it, rather than dies of
  /// it.
  bool is_survived(Time now) const { return now - sent_at_ >= kSurvived; }
  /// Whether an engine that had the request has died.
  bool has_lost_engine() const { return !moves_.is_without_deaths(); }
  /// Called when an engine that had the request has died. Returns the reason if no other worker may
  /// get the request.
  continuation::Refused died(Worker const& worker, Begun begun, Time now);
  /// Called when a leg of an answer that has begun must be replaced; `reason` is one of Received.
  continuation::Refused moved(std::string_view reason, Worker const& worker, bool has_begun,
                              Time now);
  /// Whether moved() would allow it; nothing is counted.
  bool may_move(std::string_view reason) const {
    return moves_.has(continuation::cause_of(reason));
  }
  /// Whether the request may be sent once more although a worker may still be working on it.
  bool may_repeat();
  /// Called when the answer is complete.
  void completed();

 private:
  SharedRisk& shared() const;
  std::uint64_t hash();

  Call const& call_;
  std::uint64_t hash_ = 0;               // 0: not computed yet
  continuation::DeathNumber known_ = 0;  // the last death known when it was sent to its worker
  Time sent_at_{};
  continuation::MoveLimit moves_;
  bool is_suspect_ = false;
  bool may_be_poison_ = false;
};

/// The answer to poison: 502, with a hint not to send it again.
relay::Refusal poisonous();

}  // namespace lastcall::router
