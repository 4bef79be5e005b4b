// The workers that a request is sent to, one after the other, until one of them answers.
//
// Theory of operation. A worker is chosen (fleet.hpp) and the request sent to it: this is a *leg*.
// A leg that fails before the client has a byte is replaced by one to another worker at once, as
// the endpoint allows (route.hpp), at most `choosing.attempts` in all. From the worker's head on
// the response is relayed, whole events at a time. After that, a leg that fails is replaced by one
// that continues where the answer stopped, if that can be proven (seam.hpp).
//
// Thread rule: the router's thread. Source: docs/router.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "router/answer.hpp"
#include "router/attempts.hpp"
#include "router/call.hpp"
#include "router/fleet.hpp"
#include "router/going_on.hpp"
#include "router/hand_over.hpp"
#include "router/leg.hpp"
#include "router/level_proof.hpp"
#include "router/metrics.hpp"
#include "router/request_risk.hpp"
#include "router/seam.hpp"
#include "router/waiting_room.hpp"

namespace lastcall::router {

struct Parts;
class RoutedRequest;

/// The time that the whole request may take, from now on.
class TotalWait final : public ingress::DeadlineOwner {
 public:
  /// Both outlive this.
  TotalWait(Parts& parts, RoutedRequest& request);
  void end() { deadline_.disarm(); }
  void expired(ingress::Wait wait) override;

 private:
  RoutedRequest& request_;
  ingress::Deadline deadline_{*this};
};

/// The limits of a request: workers, engines, and time.
struct Budget {
  Attempts attempts;
  RequestRisk risk;
  std::unique_ptr<TotalWait> total;  // absent if it may take any time
};

class Legs final : public LegListener, public Waiter, public GoingOnOwner {
 public:
  /// Both outlive this.
  Legs(RoutedRequest& request, Call& call);

  /// The request is complete.
  void start();
  /// Ends its legs, so that no worker has it any more.
  void drop();
  /// The client has read what waited for it.
  void flushed();
  std::size_t capacity() const { return seam_.capacity() + (leg_ ? leg_->sent().capacity() : 0); }
  /// That its client has, of an answer that is recorded.
  std::uint64_t events() const { return seam_.is_recording() ? seam_.story().events() : 0; }

  // LegListener
  bool takes_response() const override;
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override;

  // Waiter
  Tried try_again() override;
  // GoingOnOwner
  void hand_over_ended(HandedOver handed) override;
  void proof_ended(Leaving const& leaving) override;

 private:
  Tried choose_and_connect();
  bool connect_to(std::shared_ptr<Worker> const& worker, bool fresh);
  /// The leg brings nothing, so another worker gets the request, or `last` ends it.
  void replace_leg(Failover why, relay::Refusal const& last);
  /// The leg's bytes are in `wire`: decides whether that is all, and how to continue.
  void settle(continuation::Progress progress, bool is_spent, std::string& wire);
  bool is_replaced(relay::ResponseHead const& head);
  bool read_head(std::span<char>& bytes, std::string& wire);
  /// An answer that has begun leaves its worker.
  void migrate(std::string_view reason);
  /// Sends it to another worker, now or when one has room, or answers with `last` if nothing was
  /// sent and there is no worker.
  void go_to_another(relay::Refusal const& last);

  RoutedRequest& request_;
  Call& call_;
  std::unique_ptr<Leg> leg_;
  Budget budget_;
  Seam seam_;
  Answer answer_;
  std::unique_ptr<HandOver> hand_over_;  // of an answer whose worker drains
  std::unique_ptr<LevelProof> proof_;    // of an answer that leaves its worker
};

}  // namespace lastcall::router
