// The workers that a request is sent to, one after the other, until one of them answers.
//
// Theory of operation. A worker is found (worker_search.hpp) and the request sent to it: this is a
// *leg*. A leg that fails before the client has a byte is replaced at once by a leg to another
// worker, as the endpoint allows (route.hpp), with at most `choosing.attempts` legs in all. Once a
// worker has sent the head of its response, the response is relayed, whole events at a time. From
// then on, a leg that fails is replaced by one that continues where the answer stopped, if that can
// be proven (seam.hpp).
//
// Thread rule: the router's thread. Source: docs/router.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "router/answer.hpp"
#include "router/call.hpp"
#include "router/continuation_owner.hpp"
#include "router/early_hand_off.hpp"
#include "router/leg.hpp"
#include "router/level_proof.hpp"
#include "router/metrics.hpp"
#include "router/seam.hpp"
#include "router/worker_search.hpp"

namespace lastcall::router {

struct Parts;
class RoutedRequest;

/// Limits the time that the whole request may take, from now on.
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

/// The state of an answer that moves to another worker, or will have to; most answers stay.
struct MoveState {
  std::optional<Time> hint{};                // when the cut will be, announced since the last event
  std::unique_ptr<EarlyHandOff> hand_off{};  // present while its worker drains
  std::unique_ptr<LevelProof> proof{};       // present while its ids are examined before it moves
};

class Legs final : public LegListener, public LegMaker, public ContinuationOwner {
 public:
  /// Both outlive this.
  Legs(RoutedRequest& request, Call& call);

  /// The request is complete.
  void start();
  /// Ends its legs, so that no worker works on the request any more.
  void drop();
  /// Called when the client has read all bytes that were waiting for it.
  void flushed();
  /// Whether a worker has received bytes of the request and may be working on it.
  bool have_reached_worker() const { return leg_ && leg_->sent().has_begun(); }
  std::size_t capacity() const {
    return answer_.seam().capacity() + (leg_ ? leg_->sent().capacity() : 0);
  }
  /// The record of the answer; null if it is not recorded.
  continuation::Continuation const* story() const {
    return answer_.seam().is_recording() ? &answer_.seam().story() : nullptr;
  }

  // LegListener
  bool takes_response() const override;
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override;

  // LegMaker
  bool begin_leg(std::shared_ptr<Worker> const& worker, bool fresh) override;
  // ContinuationOwner
  void hand_off_ended(HandOffResult handed) override;
  void proof_ended(MoveCause const& cause) override;

 private:
  /// Called when the leg yields nothing usable: another worker gets the request, or it ends with
  /// `last`.
  void replace_leg(Failover why, relay::Refusal const& last);
  /// The leg's bytes are in `wire`. Decides whether the answer is complete, and how to continue.
  void settle(continuation::Progress progress, std::string& wire);
  Seam& seam() { return answer_.seam(); }
  void look_ahead();
  bool replace_answer(relay::ResponseHead const& head);
  bool read_head(std::span<char>& bytes, std::string& wire);
  /// Takes an answer that has begun away from its worker.
  void migrate(std::string_view reason);

  RoutedRequest& request_;
  Call& call_;
  std::unique_ptr<Leg> leg_;
  Answer answer_;
  WorkerSearch search_;
  std::unique_ptr<TotalWait> total_;  // absent if its time is not limited
  std::unique_ptr<MoveState> move_;
};

}  // namespace lastcall::router
