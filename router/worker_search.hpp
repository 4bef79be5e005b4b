// Finds the worker that gets a request next, and waits while no worker has room for it.
//
// Rules:
//  1. A request is sent to at most `choosing.attempts` workers, and to each of them once
//     (attempts.hpp).
//  2. If there is no worker for a request of which nothing was sent, it is refused, unless one has
//     no room only for what a dead engine left behind: then it waits for that room.
//  3. An answer that continues waits for a worker, at most `migration.wait`, and may ask all of
//     them again; it ends at once if no worker is able to continue it.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Choosing, and choosing again'.
#pragma once

#include <memory>

#include "relay/refusal.hpp"
#include "router/attempts.hpp"
#include "router/call.hpp"
#include "router/continuation/refused.hpp"
#include "router/fleet.hpp"
#include "router/pacing.hpp"
#include "router/request_risk.hpp"
#include "router/verdict.hpp"
#include "router/waiting_room.hpp"

namespace lastcall::router {

class Answer;
class RoutedRequest;
class Seam;

/// Sends the request to the worker that was found.
class LegMaker {
 public:
  LegMaker() = default;
  LegMaker(LegMaker const&) = delete;
  LegMaker& operator=(LegMaker const&) = delete;

  /// `fresh`: the worker may be closing a kept connection at this moment, and then it is unknown
  /// whether it has read the request. Returns true if the leg has begun, or if the request is over
  /// because there was no memory for its body.
  virtual bool begin_leg(std::shared_ptr<Worker> const& worker, bool fresh) = 0;

 protected:
  ~LegMaker() = default;
};

class WorkerSearch final : public Waiter {
 public:
  /// All of them outlive this.
  WorkerSearch(RoutedRequest& request, Call& call, Answer& answer, LegMaker& legs)
      : request_(request), call_(call), answer_(answer), legs_(legs), risk_(call) {}

  Attempts& attempts() { return attempts_; }
  RequestRisk& risk() { return risk_; }
  /// The work that the next leg causes at its worker.
  LegWork work() const;

  /// Sends the request to another worker, now or when one has room; if nothing was sent and there
  /// is no worker, answers with `last`.
  void go_on(relay::Refusal const& last);
  /// The answer has left that worker: any other one may be asked.
  void leave(Worker const& worker);
  /// A worker has refused to continue the answer, and is as suitable as before for other requests:
  /// each other one is asked once.
  void pass_over();
  /// Whether a request that a worker has answered with `verdict` may be repeated, and there is a
  /// worker for it.
  bool may_ask_another(Verdict verdict) const;
  /// No other worker gets the request: the client gets `last` if nothing was sent, otherwise an end
  /// with the reason.
  void give_up(continuation::Refused why, relay::Refusal const& last);
  void stop();

  // Waiter
  Tried try_again() override;

 private:
  /// `ignores_turns`: it also asks workers that have failed and were asked for another answer a
  /// moment ago.
  Tried ask(bool ignores_turns = false);
  void wait();
  Seam& seam() const;
  /// The workers that may have the next leg.
  Fleet::Wanted next() const;
  /// Whether the answer must continue and there are workers, but none of them can continue it.
  bool fits_nobody() const;

  RoutedRequest& request_;
  Call& call_;
  Answer& answer_;
  LegMaker& legs_;
  Attempts attempts_;
  RequestRisk risk_;
};

}  // namespace lastcall::router
