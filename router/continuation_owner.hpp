// The owner of the objects that an answer needs to continue at another worker; they notify it of
// their results. Most answers need none of them.
//
// Thread rule: the router's thread. Source: docs/continuation.md.
#pragma once

namespace lastcall::router {

struct HandedOver;
struct Leaving;

class ContinuationOwner {
 public:
  ContinuationOwner() = default;
  ContinuationOwner(ContinuationOwner const&) = delete;
  ContinuationOwner& operator=(ContinuationOwner const&) = delete;

  /// The end of an early hand-off (hand_over.hpp).
  virtual void hand_over_ended(HandedOver handed) = 0;
  /// The end of the check whether ids and text are level (level_proof.hpp).
  virtual void proof_ended(Leaving const& leaving) = 0;

 protected:
  ~ContinuationOwner() = default;
};

}  // namespace lastcall::router
