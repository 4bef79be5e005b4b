// preStop mode: which calls of the engine's container wait, and whether the supervisor waits for
// another engine.
//
// Rules:
//  1. Calls share one drain; the first that has not returned counts for how long they are held.
//  2. Once they have returned the engine gets its stop signal from the kubelet, and later reports
//     about it are expected.
//  3. If no shim reports the next engine, it is recognized by watching. An engine that counts as
//     lost is ended only by its container's liveness probe.
//
// The bounds of the drain meanwhile are the coordinator's. Owned by the core's thread. Source:
// specification, 'preStop'.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/action.hpp"
#include "core/deletion_evidence.hpp"
#include "core/instant.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

/// Another engine is awaited.
struct Awaiting {
  bool condemned = false;        // after a stop: only its liveness probe ends it
  std::optional<Instant> until;  // at that time the engine counts as replaced
  Instant since;
  Verdict verdict = Verdict::starting;  // the reason why it counts as lost
  std::string why;
};

class PreStop {
 public:
  // --- calls ---
  void called(Instant now) { waits_since_ = waits_since_.value_or(now); }
  bool waits() const { return waits_since_.has_value(); }
  /// The waiting calls return now. Returns how long the first of them was held.
  Duration release(Instant now) { return now - *std::exchange(waits_since_, std::nullopt); }
  /// Whether the calls of this container's stop have returned.
  void set_answered(bool answered) { answered_ = answered; }
  bool is_answered() const { return answered_; }

  // --- the next engine ---
  void await_engine(Awaiting awaiting) { awaiting_ = std::move(awaiting); }
  void end_awaiting() { awaiting_.reset(); }
  std::optional<Awaiting> const& awaiting() const { return awaiting_; }
  bool is_condemned() const { return awaiting_ && awaiting_->condemned; }
  bool awaits_in_vain(Instant now) const {
    return awaiting_ && awaiting_->until && now >= *awaiting_->until;
  }
  std::optional<Instant> next_deadline() const {
    return awaiting_ ? awaiting_->until : std::nullopt;
  }

  /// The evidence of the pod's deletion.
  DeletionEvidence deletion;

  void fingerprint(Mixer& m) const {
    m.all(deletion.source(), waits(), answered_, awaiting_.has_value(), is_condemned(),
          next_deadline());
  }

 private:
  std::optional<Instant> waits_since_;  // the first call that has not returned
  bool answered_ = false;
  std::optional<Awaiting> awaiting_;
};

}  // namespace lastcall::lifecycle
