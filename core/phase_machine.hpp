// The current phase, its start, and how the earlier ones ended.
//
// The table of phase_table.hpp is the only source of what is legal, and write() the only writer of
// the phase. Owned by the core's thread. Source: specification, 'Lifecycle'.
#pragma once

#include <array>
#include <optional>

#include "core/action.hpp"
#include "core/instant.hpp"
#include "core/phase_table.hpp"

namespace lastcall::lifecycle {

/// How an earlier phase of this stop ended.
struct PhaseRecord {
  PhaseOutcome outcome = PhaseOutcome::skipped;
  Duration elapsed{};
};

/// True between the first move of a drain and its end.
constexpr bool is_draining(Phase phase) {
  return phase == Phase::deregistering || phase == Phase::draining || phase == Phase::drained;
}

/// Whether new requests are refused.
constexpr bool refuses(Phase phase) {
  return phase >= Phase::draining;
}

class PhaseMachine {
 public:
  /// The first instant of this life.
  void started(Instant now) { began_ = now; }
  /// `outcome`: how the current phase ends. `deadline`: the deadline of the stop under way. Returns
  /// false if the table ignores the event.
  bool take(Instant now, PhaseEvent event, PhaseOutcome outcome, std::optional<Instant> deadline);
  /// Restores the phase of an earlier life. An instant in the future is from another boot of the
  /// machine, so the phase starts now.
  void restore(Instant now, Phase phase, Instant began, PhaseRecord deregistering,
               PhaseRecord draining);
  /// Another drain or stop begins.
  void forget_records() { records_ = {}; }
  /// The last stop has ended, and is no longer part of reports.
  void forget_stop();

  Phase phase() const { return phase_; }
  Instant began() const { return began_; }
  PhaseRecord const& record(Phase phase) const { return records_[static_cast<std::size_t>(phase)]; }
  /// The phase in which this stop was taken over from an earlier life; absent if it was not.
  std::optional<Instant> restored_at() const { return restored_at_; }
  /// The log's note about the phase that ended last; returned once.
  std::optional<PhaseEnded> take_ended();

 private:
  void write(Phase phase, Instant began);

  Phase phase_ = Phase::starting;
  Instant began_{};
  std::optional<Instant> restored_at_;
  std::array<PhaseRecord, kPhases> records_{};
  std::optional<PhaseEnded> ended_;
};

}  // namespace lastcall::lifecycle
