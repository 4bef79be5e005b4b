// What time and the gate decide within a drain or stop; shutdown_coordinator.cpp begins and ends
// one.
#include <algorithm>

#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {

// --- what time and the gate decide ---------------------------------------------------------------

Move ShutdownCoordinator::next(Instant now, Facts const& facts) {
  switch (phase_) {
    case Phase::deregistering:
      return next_in_deregistering(now, facts);
    case Phase::draining:
      return next_in_draining(now, facts);
    case Phase::drained:
      // Requests that came late still count when a stop or a hook joins; else the drain rests here.
      return stop_ || (hook_ && !hook_done_) ? next_in_draining(now, facts) : Move::none;
    case Phase::starting:
    case Phase::serving:
    case Phase::cleaning_up:
    case Phase::exited:
      return Move::none;
  }
  return Move::none;
}

Move ShutdownCoordinator::next_in_deregistering(Instant now, Facts const& facts) {
  auto const cancel_point = stop_cancel_point();
  bool const pressed = cancel_point && now >= *cancel_point;
  if (!gate_.deregistered_at) {
    if (facts.registries_settled) {
      gate_.deregistered_at = now;
      gate_.deregister_outcome =
          facts.registries_confirmed ? PhaseOutcome::completed : PhaseOutcome::failed;
    } else if (now >= *deregister_limit() || pressed) {
      gate_.deregistered_at = now;
      // Nobody was to be waited for: that is no failure to confirm in time.
      bool const waits = budgets().deregister_timeout > Duration{0};
      gate_.deregister_outcome = waits ? PhaseOutcome::timed_out : PhaseOutcome::skipped;
    }
  }
  if (gate_.deregistered_at && (now >= draining_from() || pressed)) {
    enter(now, Phase::draining, gate_.deregister_outcome);
    return Move::enter_draining;
  }
  return Move::none;
}

Move ShutdownCoordinator::next_in_draining(Instant now, Facts const& facts) {
  std::size_t const in_flight = facts.graceful + facts.ungraceful;
  if (gate_.timeout_asked) {
    return next_after_timeout(now, facts);
  }
  auto const cancel_point = stop_cancel_point();
  if (cancel_point && now >= *cancel_point) {
    gate_.timeout_asked = true;
    gate_.timeout_kill_at = earlier_of(now + budgets().settle, kill_cancel_point());
    return in_flight > 0 ? Move::stop_all : next_after_timeout(now, facts);
  }
  if (settings_.migrate == MigratePolicy::at_start && !gate_.migrate_asked) {
    gate_.migrate_asked = true;
    gate_.migrate_kill_at = now + budgets().settle;
    if (facts.ungraceful > 0) {
      return Move::stop_ungraceful;
    }
  }
  if (gate_.migrate_kill_at && now >= *gate_.migrate_kill_at && !gate_.migrate_killed) {
    gate_.migrate_killed = true;
    if (facts.ungraceful > 0) {
      return Move::kill_ungraceful;
    }
  }
  if (!gate_is_empty(now, facts)) {
    return Move::none;
  }
  if (facts.ungraceful == 0 || gate_.migrate_killed) {
    // Time that ran out is no proof that nothing ran.
    bool const proven = facts.in_flight_known || facts.gauges_idle;
    return end_draining(now, proven ? PhaseOutcome::completed : PhaseOutcome::timed_out);
  }
  if (!gate_.migrate_asked) {
    gate_.migrate_asked = true;
    gate_.migrate_kill_at = now + budgets().settle;
    return Move::stop_ungraceful;
  }
  return Move::none;
}

Move ShutdownCoordinator::next_after_timeout(Instant now, Facts const& facts) {
  std::size_t const in_flight = facts.graceful + facts.ungraceful;
  // Peers of an earlier life may still announce what runs; it gets its time to stop like the rest.
  if ((in_flight > 0 || facts.recovering) && !gate_.timeout_killed) {
    if (now < *gate_.timeout_kill_at) {
      return Move::none;
    }
    gate_.timeout_killed = true;
    if (in_flight > 0) {
      return Move::kill_all;
    }
  }
  return end_draining(now, PhaseOutcome::timed_out);
}

Move ShutdownCoordinator::end_draining(Instant now, PhaseOutcome outcome) {
  if (stop_) {
    enter(now, Phase::cleaning_up, outcome);
    return Move::enter_cleaning_up;
  }
  hook_done_ = true;
  bool const was_drained = phase_ == Phase::drained;
  if (!was_drained) {
    enter(now, Phase::drained, outcome);
    drain_limit_.reset();
  }
  gate_ = {};
  return was_drained ? Move::end_drained : Move::enter_drained;
}

bool ShutdownCoordinator::gate_is_empty(Instant now, Facts const& facts) const {
  if (facts.recovering) {
    return false;
  }
  if (facts.in_flight_known) {
    return facts.graceful == 0;
  }
  // Nobody tells what is in flight: time is all there is, and the report says `unknown`.
  return facts.gauges_idle || is_at_rest(facts) || now >= unknown_until(facts);
}

/// The drain is over, and nothing is known to have come since: what an earlier life of ours may
/// have seen come, this one has to see proven gone.
bool ShutdownCoordinator::is_at_rest(Facts const& facts) const {
  bool const saw_its_end = !restored_at_ || !facts.has_gauges;
  return phase_ == Phase::drained && !came_late(facts) && saw_its_end;
}

/// After the drain the engine's own gauges showed work again.
bool ShutdownCoordinator::came_late(Facts const& facts) const {
  return facts.gauges_busy_at && *facts.gauges_busy_at >= phase_began_;
}

/// Silence is counted from the last time that anybody knew something.
Instant ShutdownCoordinator::unknown_until(Facts const& facts) const {
  Instant known_at = std::max(phase_began_, facts.gauges_busy_at.value_or(phase_began_));
  if (phase_ == Phase::drained && facts.has_gauges) {
    known_at = std::max(known_at, restored_at_.value_or(known_at));
  }
  return known_at + settings_.shutdown.drain_unknown;
}

std::optional<Instant> ShutdownCoordinator::next_deadline(Facts const& facts) const {
  switch (phase_) {
    case Phase::deregistering:
      return earlier_of(stop_cancel_point(),
                        gate_.deregistered_at ? draining_from() : *deregister_limit());
    case Phase::drained:
      if (!stop_ && (!hook_ || hook_done_)) {
        return std::nullopt;
      }
      break;
    case Phase::draining:
      break;
    case Phase::starting:
    case Phase::serving:
    case Phase::cleaning_up:
    case Phase::exited:
      return std::nullopt;
  }
  if (gate_.timeout_asked) {
    return gate_.timeout_kill_at;
  }
  auto at = stop_cancel_point();
  if (gate_.migrate_kill_at && !gate_.migrate_killed) {
    at = earlier_of(at, gate_.migrate_kill_at);
  }
  bool const may_be_busy = phase_ == Phase::draining || !is_at_rest(facts);
  if (!facts.in_flight_known && !facts.recovering && may_be_busy) {
    at = earlier_of(at, unknown_until(facts));
  }
  return at;
}

std::optional<Instant> ShutdownCoordinator::stop_cancel_point() const {
  auto at = earlier_of(
      stop_ ? std::optional(stop_budgets_.stop_cancel_at(stop_->deadline)) : std::nullopt,
      drain_limit_);
  if (hook_ && !hook_done_) {
    Budgets const& budgets = hook_->deletion ? drain_budgets_ : restart_budgets_;
    at = earlier_of(at, *hook_limit() - budgets.settle);
  }
  return at;
}

std::optional<Instant> ShutdownCoordinator::kill_cancel_point() const {
  return earlier_of(
      stop_ ? std::optional(stop_budgets_.kill_cancel_at(stop_->deadline)) : std::nullopt,
      hook_done_ ? std::nullopt : hook_limit());
}

Instant ShutdownCoordinator::draining_from() const {
  return *gate_.deregistered_at +
         budgets().late_accept_after(*gate_.deregistered_at - phase_began_);
}

}  // namespace lastcall::lifecycle
