#include "core/drain_gate.hpp"

#include <algorithm>

namespace lastcall::lifecycle {

void DrainGate::reset() {
  deregistered_at_.reset();
  deregister_outcome_ = PhaseOutcome::completed;
  migrate_ = timeout_ = Cut::none;
  migrate_kill_at_.reset();
}

DrainGate::Next DrainGate::next_in_deregistering(Instant now, Facts const& facts,
                                                 Bounds const& bounds) {
  bool const pressed = bounds.stop_cancel && now >= *bounds.stop_cancel;
  if (!deregistered_at_) {
    Duration const timeout = bounds.budgets.deregister_timeout;
    if (facts.registries_settled) {
      deregistered_at_ = now;
      deregister_outcome_ =
          facts.registries_confirmed ? PhaseOutcome::completed : PhaseOutcome::failed;
    } else if (now >= bounds.began + timeout || pressed) {
      deregistered_at_ = now;
      // Nothing was to be waited for, so this is not a failure to confirm in time.
      deregister_outcome_ = timeout > Duration{0} ? PhaseOutcome::timed_out : PhaseOutcome::skipped;
    }
  }
  if (deregistered_at_ && (now >= draining_from(bounds) || pressed)) {
    return {Step::deregistered, deregister_outcome_};
  }
  return {};
}

DrainGate::Next DrainGate::next_in_draining(Instant now, Facts const& facts, Bounds const& bounds) {
  if (timeout_ != Cut::none) {
    return after_timeout(now, facts, bounds);
  }
  if (bounds.stop_cancel && now >= *bounds.stop_cancel) {
    timeout_ = Cut::asked;
    return facts.in_flight() > 0 ? Next{Step::stop_all} : after_timeout(now, facts, bounds);
  }
  if (settings_.migrate == MigratePolicy::at_start && migrate_ == Cut::none) {
    ask_to_migrate(now, bounds);
    if (facts.ungraceful > 0) {
      return {Step::stop_ungraceful};
    }
  }
  if (migrate_ == Cut::asked && now >= *migrate_kill_at_) {
    migrate_ = Cut::killed;
    if (facts.ungraceful > 0) {
      return {Step::kill_ungraceful};
    }
  }
  if (!is_empty(now, facts, bounds)) {
    return {};
  }
  if (facts.ungraceful == 0 || migrate_ == Cut::killed) {
    // The end of the time is no proof that nothing was running.
    bool const proven = (facts.in_flight_known && !facts.unseen) || facts.gauges_idle;
    return {Step::closed, proven ? PhaseOutcome::completed : PhaseOutcome::timed_out};
  }
  if (migrate_ == Cut::none) {
    ask_to_migrate(now, bounds);
    return {Step::stop_ungraceful};
  }
  return {};
}

DrainGate::Next DrainGate::after_timeout(Instant now, Facts const& facts, Bounds const& bounds) {
  // Peers of an earlier life may still announce requests that run; these get their time to stop,
  // too.
  if ((facts.in_flight() > 0 || facts.recovering) && timeout_ != Cut::killed) {
    if (now < bounds.kill_at) {
      return {};
    }
    timeout_ = Cut::killed;
    if (facts.in_flight() > 0) {
      return {Step::kill_all};
    }
  }
  return {Step::closed, PhaseOutcome::timed_out};
}

void DrainGate::ask_to_migrate(Instant now, Bounds const& bounds) {
  migrate_ = Cut::asked;
  migrate_kill_at_ = now + bounds.budgets.settle;
}

std::optional<Instant> DrainGate::next_deadline(Facts const& facts, Bounds const& bounds) const {
  if (bounds.phase == Phase::deregistering) {
    return earlier_of(bounds.stop_cancel, deregistered_at_
                                              ? draining_from(bounds)
                                              : bounds.began + bounds.budgets.deregister_timeout);
  }
  if (timeout_ != Cut::none) {
    return bounds.kill_at;
  }
  auto at = bounds.stop_cancel;
  if (migrate_ == Cut::asked) {
    at = earlier_of(at, migrate_kill_at_);
  }
  bool const may_be_busy = bounds.phase == Phase::draining || !is_at_rest(facts, bounds);
  if (!facts.in_flight_known && !facts.recovering && may_be_busy) {
    at = earlier_of(at, unknown_until(facts, bounds));
  }
  return at;
}

std::optional<CancelMode> DrainGate::mode_of(Cut cut) {
  switch (cut) {
    case Cut::none:
      return std::nullopt;
    case Cut::asked:
      return CancelMode::stop;
    case Cut::killed:
      return CancelMode::kill;
  }
  return std::nullopt;
}

bool DrainGate::is_empty(Instant now, Facts const& facts, Bounds const& bounds) const {
  if (facts.recovering) {
    return false;
  }
  if (facts.in_flight_known) {
    return facts.graceful == 0;
  }
  // No source reports what is in flight, so only time can decide, and the report has `unknown`.
  return facts.gauges_idle || is_at_rest(facts, bounds) || now >= unknown_until(facts, bounds);
}

bool DrainGate::is_at_rest(Facts const& facts, Bounds const& bounds) {
  // Whether the engine's own gauges showed work again after the drain.
  bool const came_late = facts.gauges_busy_at && *facts.gauges_busy_at >= bounds.began;
  bool const saw_its_end = !bounds.restored_at || !facts.has_gauges;
  return bounds.phase == Phase::drained && !came_late && saw_its_end;
}

Instant DrainGate::unknown_until(Facts const& facts, Bounds const& bounds) const {
  Instant known_at = std::max(bounds.began, facts.gauges_busy_at.value_or(bounds.began));
  if (bounds.phase == Phase::drained && facts.has_gauges) {
    known_at = std::max(known_at, bounds.restored_at.value_or(known_at));
  }
  return known_at + settings_.shutdown.drain_unknown;
}

Instant DrainGate::draining_from(Bounds const& bounds) const {
  return *deregistered_at_ + bounds.budgets.late_accept_after(*deregistered_at_ - bounds.began);
}

void DrainGate::fingerprint(Mixer& m, Bounds const& bounds) const {
  m.all(migrate_, migrate_kill_at_, timeout_);
  if (bounds.phase == Phase::deregistering) {
    m.put(deregistered_at_.has_value());
    m.put(deregistered_at_ ? draining_from(bounds)
                           : bounds.began + bounds.budgets.deregister_timeout);
    // The latest end of late_accept.
    m.put(deregistered_at_ ? m.now : bounds.began + bounds.budgets.shared);
  } else if (bounds.phase == Phase::draining) {
    m.put(bounds.began + settings_.shutdown.drain_unknown);
  } else if (bounds.restored_at) {
    m.put(*bounds.restored_at + settings_.shutdown.drain_unknown);
  }
}

}  // namespace lastcall::lifecycle
