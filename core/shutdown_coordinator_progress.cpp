// What a restarted supervisor needs to go on: how it is told, and taken over.
#include <algorithm>

#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {
namespace {

void mix(Mixer& m, Budgets const& b) {
  m.all(b.deregister_timeout, b.late_accept, b.shared, b.reserve, b.settle, b.kill_margin);
}

}  // namespace

ShutdownCoordinator::Progress ShutdownCoordinator::progress() const {
  return {.phase = phase_,
          .phase_began = phase_began_,
          .stop = stop_,
          .drain_limit = drain_limit_,
          .deregistering = record(Phase::deregistering),
          .draining = record(Phase::draining),
          .hook = told_hook()};
}

std::optional<ShutdownCoordinator::Hook> ShutdownCoordinator::told_hook() const {
  auto hook = hook_;
  if (hook && pod_grace_ != settings_.pod_grace) {
    hook->grace = pod_grace_;
  }
  return hook;
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

/// Phase, deadline and gate.
void ShutdownCoordinator::fingerprint(Mixer& m) const {
  m.put(phase_);
  if (stop_) {
    m.all(stop_->cause.kind, stop_->mode, stop_->deadline, stop_->in_starting);
    mix(m, stop_budgets_);
    // What a restarted supervisor will make of it.
    mix(m, clamp_to_total(settings_.shutdown, stop_->deadline - stop_->cause_at));
  }
  if (phase_ == Phase::deregistering) {
    auto const& at = gate_.deregistered_at;
    Duration const used = at ? *at - phase_began_ : Duration{0};
    m.put(at ? *at + budgets().late_accept_after(used) : *deregister_limit());
    m.put(at.has_value());
    m.put(at ? m.now : phase_began_ + budgets().shared);  // how long late_accept may be
  }
  if (phase_ == Phase::draining) {
    m.put(phase_began_ + settings_.shutdown.drain_unknown);
  }
  if (phase_ == Phase::drained && restored_at_) {
    m.put(*restored_at_ + settings_.shutdown.drain_unknown);
  }
  m.put(hook_.has_value());
  if (hook_) {
    m.all(*hook_limit(), hook_->deletion, hook_->began_drain, hook_is_done());
    // What a stop will find spent.
    m.put(std::min(m.now - hook_->called_at, settings_.shutdown.grace_period));
  }
  if (is_draining()) {
    m.all(drain_limit_, gate_.migrate_asked, gate_.migrate_killed, gate_.migrate_kill_at,
          gate_.timeout_asked, gate_.timeout_killed, gate_.timeout_kill_at);
  }
}

}  // namespace lastcall::lifecycle
