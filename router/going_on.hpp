// The owner of what an answer needs to go on at another worker, and what it is notified of. Most
// answers need nothing of that.
//
// Thread rule: the router's thread. Source: docs/continuation.md.
#pragma once

namespace lastcall::router {

struct HandedOver;
struct Leaving;

class GoingOnOwner {
 public:
  GoingOnOwner() = default;
  GoingOnOwner(GoingOnOwner const&) = delete;
  GoingOnOwner& operator=(GoingOnOwner const&) = delete;

  /// The end of an early hand-off (hand_over.hpp).
  virtual void hand_over_ended(HandedOver handed) = 0;
  /// The end of the question whether ids and text are level (level_proof.hpp).
  virtual void proof_ended(Leaving const& leaving) = 0;

 protected:
  ~GoingOnOwner() = default;
};

}  // namespace lastcall::router
