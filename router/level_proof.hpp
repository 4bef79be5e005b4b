// Finds out whether the ids that a worker has reported are level with the text that the client has
// received: before an answer continues at another worker, a worker's `/detokenize` converts the ids
// to text.
//
// Theory of operation. If the last event reported several ids (because a slow reader merged events,
// or because of speculative decoding), or if the engine may hold text back, there may be pending
// bytes that are not visible. The ids after the last clean boundary are sent to a worker; if they
// convert to the text that the client has after that boundary, the continuation sends the ids,
// otherwise the text (continuation/transcript.hpp).
//
// Rules:
//  1. There is one question per answer and failure, and it takes at most `timeouts.connect`. No
//     answer, or a different text, is no proof; it ends nothing and does not count against a
//     worker.
//  2. The owner is notified of the end once, with the value that it passed to begin().
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'Clean boundaries'.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ingress/deadlines.hpp"
#include "router/call.hpp"
#include "router/continuation/refused.hpp"
#include "router/continuation_owner.hpp"
#include "router/leg.hpp"
#include "router/seam.hpp"
#include "router/whole_answer.hpp"

namespace lastcall::router {

struct Parts;

/// The circumstances in which an answer leaves its worker.
struct Leaving {
  std::shared_ptr<Worker> worker;
  std::string_view reason;  // static text
  continuation::Refused limit = continuation::Refused::no;
};

class LevelProof final : public LegListener, public ingress::DeadlineOwner {
 public:
  /// All of them outlive this.
  LevelProof(Parts& parts, Call const& call, Seam& seam, ContinuationOwner& owner)
      : parts_(parts), call_(call), seam_(seam), owner_(owner) {}

  /// Returns false if there is nothing to prove, or no worker for it.
  bool begin(Leaving const& leaving);
  void drop();

  // LegListener
  bool takes_response() const override { return true; }
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override {}

  void expired(ingress::Wait wait) override;

 private:
  void end(bool keep);

  Parts& parts_;
  Call const& call_;
  Seam& seam_;
  ContinuationOwner& owner_;
  Leaving leaving_;
  std::string question_;
  WholeAnswer answer_{0};
  std::unique_ptr<Leg> leg_;
  ingress::Deadline deadline_{*this};
};

}  // namespace lastcall::router
