// What a restarted supervisor needs to go on: how it is told, and taken over.
#include <algorithm>

#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {

ShutdownCoordinator::Progress ShutdownCoordinator::progress() const {
  Progress progress{phase_,
                    phase_began_,
                    stop_,
                    drain_limit_,
                    record(Phase::deregistering),
                    record(Phase::draining),
                    hook_};
  if (progress.hook && pod_grace_ != settings_.pod_grace) {
    progress.hook->grace = pod_grace_;
  }
  return progress;
}

void ShutdownCoordinator::restore(Instant now, Progress const& progress) {
  phase_ = progress.phase;
  // An instant of the future is not ours (another boot of the machine): start the phase now.
  phase_began_ = std::min(progress.phase_began, now);
  stop_ = progress.stop;
  drain_limit_ = progress.drain_limit;
  hook_ = progress.hook;
  hook_done_ = false;
  restored_at_ = now;
  records_[static_cast<std::size_t>(Phase::deregistering)] = progress.deregistering;
  records_[static_cast<std::size_t>(Phase::draining)] = progress.draining;
  gate_ = {};
  if (stop_) {
    Duration const total = std::max(stop_->deadline - stop_->cause_at, Duration{0});
    stop_budgets_ = with_cleanup(clamp_to_total(settings_.shutdown, total));
  }
}

bool ShutdownCoordinator::hook_was_called(Hook const& earlier) {
  if (hook_) {
    hook_->called_at = std::min(hook_->called_at, earlier.called_at);
  }
  return earlier.grace && limit_grace(*earlier.grace);
}

}  // namespace lastcall::lifecycle
