#include "core/shutdown_coordinator.hpp"

#include <utility>

#include "core/check.hpp"

namespace lastcall::lifecycle {

ShutdownCoordinator::ShutdownCoordinator(Settings const& settings)
    : clock(settings), gate_(settings) {}

// --- what begins and ends a drain or stop --------------------------------------------------------

void ShutdownCoordinator::become_ready(Instant now) {
  phases_.take(now, PhaseEvent::engine_ready, PhaseOutcome::completed, deadline());
}

void ShutdownCoordinator::begin_drain(Instant now, std::optional<Duration> timeout) {
  reset_gate();
  phases_.forget_records();
  clock.limit_drain(timeout ? std::optional(now + *timeout) : std::nullopt);
  phases_.take(now, PhaseEvent::drain_begins, PhaseOutcome::completed, deadline());
}

bool ShutdownCoordinator::limit_drain(Instant now, Duration timeout) {
  auto const limit = clock.drain_limit();
  bool const is_nearer = !limit || now + timeout < *limit;
  bool const is_at_rest = phase() == Phase::drained && rests();
  if (!is_draining(phase()) || is_at_rest || gate_.has_cut_all() || !is_nearer) {
    return false;
  }
  auto const before = clock.stop_cancel_point();
  clock.limit_drain(now + timeout);
  return clock.stop_cancel_point() != before;  // the deadline of a stop may come first anyway
}

void ShutdownCoordinator::begin_stop(Instant now, Cause cause, StopMode mode, Instant cause_at,
                                     bool has_work, std::optional<Duration> timeout) {
  bool const nothing_to_drain = phase() == Phase::starting && !has_work;
  bool const abbreviated = mode == StopMode::fatal || nothing_to_drain;
  bool const joins = is_draining(phase());
  clock.begin_stop(now,
                   Stop{.cause = std::move(cause),
                        .mode = mode,
                        .cause_at = cause_at,
                        .deadline = {},
                        .in_starting = abbreviated && phase() == Phase::starting},
                   abbreviated);
  if (!joins) {
    phases_.forget_records();
  }
  if (!joins && !abbreviated) {
    reset_gate();
  }
  clock.limit_drain(timeout ? std::optional(now + *timeout) : std::nullopt);
  if (abbreviated) {
    bool const is_cut_short = phase() == Phase::deregistering || phase() == Phase::draining;
    phases_.take(now, PhaseEvent::stop_abbreviated,
                 is_cut_short ? PhaseOutcome::failed : PhaseOutcome::completed, deadline());
    return;
  }
  phases_.take(now, PhaseEvent::stop_begins, PhaseOutcome::completed, deadline());
}

void ShutdownCoordinator::abort_drain(Instant now, Duration within) {
  clock.shorten(now, within);
  phases_.take(now, PhaseEvent::drain_aborted, PhaseOutcome::failed, deadline());
}

void ShutdownCoordinator::resume(Instant now, bool ready) {
  LC_ASSERT(!is_stopping());
  reset_gate();
  clock.hook.forget();
  phases_.take(now, ready ? PhaseEvent::resumed : PhaseEvent::resumed_unready,
               PhaseOutcome::completed, deadline());
}

void ShutdownCoordinator::await_replacement(Instant now) {
  LC_ASSERT(!is_stopping());
  reset_gate();
  phases_.take(now, PhaseEvent::engine_replaced, PhaseOutcome::completed, deadline());
}

void ShutdownCoordinator::finish(Instant now) {
  LC_ASSERT(is_stopping());
  phases_.take(now, PhaseEvent::list_done,
               now >= *deadline() ? PhaseOutcome::timed_out : PhaseOutcome::completed, deadline());
}

void ShutdownCoordinator::rearm(Instant now) {
  phases_.take(now, PhaseEvent::rearmed, PhaseOutcome::completed, deadline());
  phases_.forget_stop();
  clock.forget_stop();
  reset_gate();
}

void ShutdownCoordinator::restore(Instant now, Progress const& progress) {
  phases_.restore(now, progress.phase, progress.phase_began, progress.deregistering,
                  progress.draining);
  clock.restore(progress.stop, progress.drain_limit, progress.hook);
  gate_.reset();
}

ShutdownCoordinator::Progress ShutdownCoordinator::progress() const {
  return {.phase = phase(),
          .phase_began = phases_.began(),
          .stop = clock.stop(),
          .drain_limit = clock.drain_limit(),
          .deregistering = phases_.record(Phase::deregistering),
          .draining = phases_.record(Phase::draining),
          .hook = clock.reported_hook()};
}

/// `keeps_limit`: the limit of the drain under way remains in force.
void ShutdownCoordinator::reset_gate(bool keeps_limit) {
  gate_.reset();
  clock.end_drain(keeps_limit);
}

// --- what time and the gate decide ---------------------------------------------------------------

Move ShutdownCoordinator::next(Instant now, Facts const& facts) {
  switch (phase()) {
    case Phase::deregistering:
      return carry_out(now, gate_.next_in_deregistering(now, facts, bounds(now)));
    case Phase::draining:
    case Phase::drained:
      // Requests that came late count again once a stop or a hook joins; otherwise the drain rests
      // here.
      return rests() ? Move::none : carry_out(now, gate_.next_in_draining(now, facts, bounds(now)));
    case Phase::starting:
    case Phase::serving:
    case Phase::cleaning_up:
    case Phase::exited:
      return Move::none;
  }
  return Move::none;
}

std::optional<Instant> ShutdownCoordinator::next_deadline(Facts const& facts) const {
  // If a request would be killed only once it were asked to end, there is no deadline for that, so
  // it does not matter which instant the bounds are computed for.
  return !is_draining(phase()) || rests() ? std::nullopt
                                          : gate_.next_deadline(facts, bounds(phases_.began()));
}

bool ShutdownCoordinator::rests() const {
  return phase() == Phase::drained && !is_stopping() && !clock.hook.binds();
}

DrainGate::Bounds ShutdownCoordinator::bounds(Instant now) const {
  return {.phase = phase(),
          .began = phases_.began(),
          .restored_at = phases_.restored_at(),
          .stop_cancel = clock.stop_cancel_point(),
          .kill_at = clock.kill_at(now),
          .budgets = clock.budgets()};
}

Move ShutdownCoordinator::carry_out(Instant now, DrainGate::Next next) {
  if (gate_.has_cut_all()) {
    clock.ask_to_end(now);
  }
  switch (next.step) {
    case DrainGate::Step::none:
      return Move::none;
    case DrainGate::Step::deregistered:
      phases_.take(now, PhaseEvent::deregistered, next.outcome, deadline());
      return Move::enter_draining;
    case DrainGate::Step::stop_ungraceful:
      return Move::stop_ungraceful;
    case DrainGate::Step::kill_ungraceful:
      return Move::kill_ungraceful;
    case DrainGate::Step::stop_all:
      return Move::stop_all;
    case DrainGate::Step::kill_all:
      return Move::kill_all;
    case DrainGate::Step::closed:
      break;
  }
  if (is_stopping()) {
    phases_.take(now, PhaseEvent::gate_closed_for_stop, next.outcome, deadline());
    return Move::enter_cleaning_up;
  }
  clock.hook.end();
  bool const was_drained = phase() == Phase::drained;
  phases_.take(now, PhaseEvent::gate_closed, next.outcome, deadline());
  reset_gate(was_drained);
  return was_drained ? Move::end_drained : Move::enter_drained;
}

// --- questions -----------------------------------------------------------------------------------

std::optional<CancelMode> ShutdownCoordinator::cancels_new(bool ungraceful) const {
  if (phase() == Phase::cleaning_up || phase() == Phase::exited) {
    return CancelMode::kill;
  }
  return ungraceful ? gate_.cancels_new_ungraceful() : gate_.cancels_new();
}

std::optional<Instant> ShutdownCoordinator::deadline() const {
  return stop() ? std::optional(stop()->deadline) : std::nullopt;
}

void ShutdownCoordinator::fingerprint(Mixer& m) const {
  Phase const now_in = phase();
  m.put(now_in);
  m.put(is_draining(now_in));
  clock.fingerprint(m, is_draining(now_in));
  if (is_draining(now_in)) {
    gate_.fingerprint(m, bounds(m.now));
  }
}

}  // namespace lastcall::lifecycle
