#include "core/phase_machine.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {
bool PhaseMachine::take(Instant now, PhaseEvent event, PhaseOutcome outcome,
                        std::optional<Instant> deadline) {
  auto const& cell = cell_of(kPhaseTable, phase_, event);
  if (cell.kind != CellKind::move) {
    return false;
  }
  Duration const elapsed = now - began_;
  records_[static_cast<std::size_t>(phase_)] = {outcome, elapsed};
  ended_ = PhaseEnded{.phase = phase_, .outcome = outcome, .elapsed = elapsed};
  if (deadline) {
    ended_->left = *deadline - now;
  }
  write(cell.to, now);
  return true;
}

void PhaseMachine::restore(Instant now, Phase phase, Instant began, PhaseRecord deregistering,
                           PhaseRecord draining) {
  write(phase, std::min(began, now));
  restored_at_ = now;
  records_[static_cast<std::size_t>(Phase::deregistering)] = deregistering;
  records_[static_cast<std::size_t>(Phase::draining)] = draining;
}

void PhaseMachine::forget_stop() {
  restored_at_.reset();
  records_ = {};
  ended_.reset();
}

std::optional<PhaseEnded> PhaseMachine::take_ended() {
  return std::exchange(ended_, std::nullopt);
}

void PhaseMachine::write(Phase phase, Instant began) {
  phase_ = phase;
  began_ = began;
}

}  // namespace lastcall::lifecycle
