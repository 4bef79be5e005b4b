#include "core/stop_rules.hpp"

#include <algorithm>
#include <utility>

#include "core/admission_rules.hpp"
#include "core/cleanup_rules.hpp"
#include "core/event_rules.hpp"
#include "core/hook_rules.hpp"
#include "core/questions.hpp"
#include "core/registration_rules.hpp"
#include "core/request_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

/// Ends the drain of a stop: what runs is cut, and the stop is over after `rest`.
void cut_short(Machines& m, Instant now, CancelReason reason, Duration rest) {
  cancel_all(m, now, CancelMode::kill, reason);
  bool const is_cleaning = m.coordinator.phase() == Phase::cleaning_up;
  m.coordinator.abort_drain(now, rest);
  if (is_cleaning) {
    announce(m);
  } else {
    note_phase_change(m);
    begin_cleanup(m, now);
  }
}

/// A later stop signal is ignored, unless it is configured to force the end.
void heed_second_signal(Machines& m, Instant now, std::string const& name, bool may_force) {
  if (m.settings.second_signal == SecondSignal::ignore || !may_force) {
    m.orders.act(SignalIgnored{name, m.tally.signal_ignored()});
    return;
  }
  m.orders.act(DrainAborted{"second_signal", name});
  note_cut_work(m);
  cut_short(m, now, CancelReason::grace_timeout, kMinimumTotal);
  m.cleanup.skip_to_engine(now);
}

void cancel_relayed(Machines& m, Instant now, CancelMode mode) {
  m.ledger.cancel_where(
      now, [](RequestView const& request) { return request.peer == kIngressPeer; }, mode,
      CancelReason::grace_timeout);
}

}  // namespace

// --- events --------------------------------------------------------------------------------------

void on(Machines& m, Instant now, SupervisorStarted const&) {
  m.coordinator.started(now);
  m.recovery.started(now);
}

void on(Machines& m, Instant now, OwnSignal const& signal) {
  if (m.shim.runs_here()) {
    return;  // in the same container, the shim owns the signals
  }
  m.prestop.deletion.signalled();
  note_deletion(m);
  if (m.recovery.hold(signal)) {
    return;
  }
  m.own.signalled();
  Phase const phase = m.coordinator.phase();
  bool const has_shim = m.shim.is_known();
  if (phase == Phase::exited) {
    end_supervisor_or_rearm(m, now);
  } else if (m.coordinator.is_stopping()) {
    // With a shim, both containers get the signal once each, so this one is not a second one.
    heed_second_signal(m, now, signal.name, !has_shim);
  } else if (m.shim.is_released() && phase == Phase::starting && m.ledger.in_flight() == 0) {
    // The stop of the engine is over and reported, so only the supervisor that served it ends now.
    exit_supervisor(m, 0);
  } else if (has_shim && !m.prestop.deletion.is_read()) {
    m.own.begin_restart(now);
  } else {
    stop(m, now, {CauseKind::own_signal, signal.name}, StopMode::graceful, now);
  }
}

/// Everything else that depends on time is decided by the joint rules.
void on(Machines& m, Instant now, TimerExpired const& expired) {
  if (expired.late > kOwnAbsence) {
    m.health.restart_silence(now);
    m.evidence.gauges.restart_silence(now);
  }
}

void on(Machines& m, Instant now, StopSignalHeld const& signal) {
  bool const over = m.coordinator.phase() == Phase::exited;
  if (!m.coordinator.is_stopping()) {
    stop(m, now, {CauseKind::signal, signal.name}, StopMode::graceful, signal.at);
    return;
  }
  heed_earlier_signal(m, signal.at);
  heed_second_signal(m, now, signal.name, !over);
}

void on(Machines& m, Instant now, DrainRequested const& request) {
  if (m.recovery.hold(request)) {
    m.orders.answer(true);
    return;
  }
  m.recovery.decide();
  if (request.exit && !m.coordinator.is_stopping()) {
    stop(m, now, {CauseKind::operator_stop, "drain --exit"}, StopMode::graceful, now,
         request.timeout);
    m.orders.answer(true);
  } else if (m.coordinator.is_stopping() || is_draining(m.coordinator.phase())) {
    // The request joins the drain or stop under way; a nearer limit for requests applies to both.
    m.coordinator.clock.hook.drain_is_asked_for();
    m.orders.answer(request.timeout && m.coordinator.limit_drain(now, *request.timeout));
  } else {
    begin_drain(m, now, request.timeout);
    m.orders.answer(true);
  }
}

void on(Machines& m, Instant now, ResumeRequested const& request) {
  if (m.recovery.hold(request)) {
    m.orders.answer(true);
    return;
  }
  m.recovery.decide();
  auto const& hook = m.coordinator.clock.hook.get();
  if (m.coordinator.is_stopping()) {
    m.orders.refuse_command("a stop is final: it cannot be resumed");
  } else if (!is_draining(m.coordinator.phase())) {
    m.orders.answer(false);
  } else if (m.own.is_restarting()) {
    m.orders.refuse_command("this supervisor is being restarted: send the order to the next one");
  } else if (hook && (hook->deletion || !hook_has_returned(m))) {
    m.orders.refuse_command(
        "the engine's container is being stopped (preStop): another "
        "engine may serve, this one cannot be resumed");
  } else {
    m.prestop.set_answered(false);
    undo_drain(m, now, m.health.started());
    if (m.coordinator.phase() == Phase::serving) {
      register_everywhere(m);
    }
    m.orders.answer(true);
  }
}

// --- verbs ---------------------------------------------------------------------------------------

void stop(Machines& m, Instant now, Cause cause, StopMode mode, Instant cause_at,
          std::optional<Duration> timeout) {
  if (m.coordinator.is_stopping() || m.coordinator.phase() == Phase::exited) {
    return;
  }
  m.own.stop_begins();
  if (m.prestop.awaiting()) {
    m.prestop.end_awaiting();
    m.orders.act(ReplacementEnded{"a stop begins"});
  }
  m.recovery.end();
  m.memory.forget_report();
  bool const joins = is_draining(m.coordinator.phase());
  if (!joins) {
    m.tally.begin();
    m.unseen.begin();
    m.recovery.drain_begins();
    if (mode == StopMode::fatal) {
      m.tally.count_recent_errors(now);
    }
  }
  assume_earlier_registration(m);
  m.coordinator.begin_stop(now, std::move(cause), mode, cause_at, m.ledger.in_flight() > 0,
                           timeout);
  auto const& begun = *m.coordinator.stop();
  m.orders.act(StopBegun{name(begun.cause.kind), begun.cause.detail, mode, begun.deadline});
  if (!joins) {
    deregister_everywhere(m, now);
  }
  if (m.coordinator.phase() == Phase::cleaning_up) {
    cancel_all(m, now, CancelMode::kill,
               mode == StopMode::fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
    note_phase_change(m);
    begin_cleanup(m, now);
  } else if (joins) {
    announce(m);
  } else {
    note_phase_change(m);
  }
}

void fatal(Machines& m, Instant now, CauseKind kind, std::string detail) {
  if (m.coordinator.phase() == Phase::exited) {
    return;
  }
  if (!m.coordinator.is_stopping()) {
    stop(m, now, {kind, std::move(detail)}, StopMode::fatal, now);
    return;
  }
  if (m.coordinator.stop()->mode == StopMode::fatal) {
    return;  // the first cause has fixed the mode
  }
  // In a graceful stop, cause and mode stay, and the drain ends.
  if (m.coordinator.phase() != Phase::cleaning_up) {
    if (!is_known_idle(m)) {
      m.tally.aborted_with_work();
    }
    note_cut_work(m);
    m.orders.act(DrainAborted{name(kind), std::move(detail)});
  }
  cut_short(m, now, CancelReason::engine_dead, kFatalTotal);
}

void begin_drain(Machines& m, Instant now, std::optional<Duration> timeout) {
  m.tally.begin();
  m.unseen.begin();
  m.recovery.drain_begins();
  assume_earlier_registration(m);
  m.coordinator.begin_drain(now, timeout);
  deregister_everywhere(m, now);
  note_phase_change(m);
}

void undo_drain(Machines& m, Instant now, bool is_ready) {
  m.coordinator.resume(now, is_ready);
  m.evidence.forget_proofs();
  note_phase_change(m);
}

void heed_earlier_signal(Machines& m, Instant at) {
  Instant const deadline = m.coordinator.clock.budgets_of(at).deadline(at);
  if (m.coordinator.phase() != Phase::exited && m.coordinator.clock.limit_deadline(deadline)) {
    announce(m);
  }
}

void exit_supervisor(Machines& m, int code) {
  m.own.end();
  m.orders.act(ExitSupervisor{code});
}

void cancel_all(Machines& m, Instant now, CancelMode mode, CancelReason reason) {
  refuse_waiters(m, now);
  m.ledger.cancel_all(now, mode, reason);
}

void note_cut_work(Machines& m) {
  m.tally.note_in_flight_at_end(in_flight_known(m) ? m.ledger.roots_in_flight()
                                                   : m.evidence.gauges.last_figure());
}

void announce(Machines& m) {
  AnnouncePhase const news{m.coordinator.phase(), m.coordinator.deadline()};
  auto const* last = m.orders.last<AnnouncePhase>();
  if (last == nullptr || last->phase != news.phase || last->deadline != news.deadline) {
    m.orders.act(news);
  }
}

void note_phase_change(Machines& m) {
  if (auto ended = m.coordinator.take_ended()) {
    ended->in_flight = reported_in_flight(m);
    m.orders.act(*ended);
  }
  m.orders.act(PhaseBegun{m.coordinator.phase()});
  announce(m);
}

// --- joint rules ---------------------------------------------------------------------------------

bool apply_move(Machines& m, Instant now) {
  if (!is_draining(m.coordinator.phase())) {
    // This runs in each step, so facts are collected only where they decide something.
    return false;
  }
  switch (m.coordinator.next(now, facts(m))) {
    case Move::none:
      return false;
    case Move::enter_draining:
      note_phase_change(m);
      m.evidence.forget_proofs();  // earlier readings prove nothing about what comes now
      m.notified.begin_drain(m.endpoints.active_graceful());
      m.orders.act(GracefulEndpoints{m.endpoints.active_graceful()});
      return true;
    case Move::stop_ungraceful:
      m.ledger.cancel_ungraceful(now, m.endpoints, CancelMode::stop, CancelReason::migrate);
      return true;
    case Move::kill_ungraceful:
      m.ledger.cancel_ungraceful(now, m.endpoints, CancelMode::kill, CancelReason::migrate);
      return true;
    case Move::stop_all:
      note_cut_work(m);
      cancel_all(m, now, CancelMode::stop, CancelReason::grace_timeout);
      return true;
    case Move::kill_all:
      cancel_all(m, now, CancelMode::kill, CancelReason::grace_timeout);
      return true;
    case Move::enter_drained:
      note_phase_change(m);
      return true;
    case Move::end_drained:
      return true;
    case Move::enter_cleaning_up:
      if (!in_flight_known(m)) {  // counted requests were noted when they were cancelled
        note_cut_work(m);
      }
      note_phase_change(m);
      begin_cleanup(m, now);
      return true;
  }
  return false;
}

bool apply_readiness(Machines& m, Instant now) {
  bool const ready = m.coordinator.phase() == Phase::starting && !m.coordinator.is_stopping() &&
                     m.recovery.is_over() && !m.own.is_restarting() && !m.prestop.awaiting() &&
                     !m.coordinator.clock.hook.get() && m.health.started();
  if (!ready) {
    return false;
  }
  m.coordinator.become_ready(now);
  note_phase_change(m);
  register_everywhere(m);
  return true;
}

void apply_held(Machines& m, Instant now) {
  if (!m.recovery.is_over() || !m.recovery.has_held()) {
    return;
  }
  m.orders.asker_waits(false);
  for (Event const& event : m.recovery.take_held()) {
    std::visit([&](auto const& fact) { on(m, now, fact); }, event);
  }
  m.orders.asker_waits(true);
}

void apply_own_restart(Machines& m, Instant now) {
  using Order = OwnEnd::Order;
  while (m.own.is_restarting() && !m.coordinator.is_stopping()) {
    OwnEnd::Facts const known{.registries_settled = m.registrations.are_settled(),
                              .ingress_is_empty = m.ledger.of_peer(kIngressPeer) == 0,
                              .ingress_has_relayed = m.evidence.ingress_has_relayed(),
                              .budgets = m.coordinator.clock.budgets_of(m.own.signalled_at())};
    switch (m.own.next(now, known)) {
      case Order::none:
        return;
      case Order::deregister:
        assume_withdrawn(m);
        deregister_everywhere(m, now);
        if (m.evidence.ingress_has_relayed()) {
          m.orders.act(LeaveIngress{});
        }
        break;
      case Order::stop_relayed:
        cancel_relayed(m, now, CancelMode::stop);
        break;
      case Order::kill_relayed:
        cancel_relayed(m, now, CancelMode::kill);
        break;
      case Order::exit:
        m.own.end();
        release_hook(m, now);
        drain_ledger(m, now);  // so that pending reports come before the exit
        m.orders.act(ExitSupervisor{0});
        return;
    }
  }
}

}  // namespace lastcall::lifecycle::rules
