// The current phase, since when it lasts, and how the earlier ones went.
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

/// How an earlier phase of this stop went.
struct PhaseRecord {
  PhaseOutcome outcome = PhaseOutcome::skipped;
  Duration elapsed{};
};

/// Between the first move of a drain and its end.
constexpr bool is_draining(Phase phase) {
  return phase == Phase::deregistering || phase == Phase::draining || phase == Phase::drained;
}

/// New requests are refused from here on.
constexpr bool refuses(Phase phase) {
  return phase >= Phase::draining;
}

class PhaseMachine {
 public:
  /// The first instant of this life.
  void started(Instant now) { began_ = now; }
  /// `outcome`: how the phase that ends went. `deadline`: of the stop under way. False: the table
  /// ignores the event.
  bool take(Instant now, PhaseEvent event, PhaseOutcome outcome, std::optional<Instant> deadline);
  /// Where an earlier life was. An instant of the future is not ours (another boot of the machine):
  /// the phase starts now.
  void restore(Instant now, Phase phase, Instant began, PhaseRecord deregistering,
               PhaseRecord draining);
  /// Another drain or stop begins.
  void forget_records() { records_ = {}; }
  /// The last stop has ended, and nothing of it is reported any more.
  void forget_stop();

  Phase phase() const { return phase_; }
  Instant began() const { return began_; }
  PhaseRecord const& record(Phase phase) const { return records_[static_cast<std::size_t>(phase)]; }
  /// Where this stop was taken over from an earlier life; absent: it was not.
  std::optional<Instant> restored_at() const { return restored_at_; }
  /// The log's note about the phase that ended last; once.
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
