// The owner of the objects that an answer needs to continue at another worker; they notify it of
// their results. Most answers need none of them.
//
// Thread rule: the router's thread. Source: docs/continuation.md.
#pragma once

namespace lastcall::router {

struct HandOffResult;
struct MoveCause;

class ContinuationOwner {
 public:
  ContinuationOwner() = default;
  ContinuationOwner(ContinuationOwner const&) = delete;
  ContinuationOwner& operator=(ContinuationOwner const&) = delete;

  /// The end of an early hand-off (early_hand_off.hpp).
  virtual void hand_off_ended(HandOffResult handed) = 0;
  /// The end of the check whether ids and text are level (level_proof.hpp).
  virtual void proof_ended(MoveCause const& cause) = 0;

 protected:
  ~ContinuationOwner() = default;
};

}  // namespace lastcall::router
