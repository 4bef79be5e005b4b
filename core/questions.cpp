#include "core/questions.hpp"

#include <algorithm>

#include "core/exit_code.hpp"

namespace lastcall::lifecycle::rules {

// --- requests in flight --------------------------------------------------------------------------

bool in_flight_known(Machines const& m) {
  return m.evidence.had_source() || m.evidence.ingress_counts() || m.ledger.in_flight() > 0 ||
         m.peers.has_source();
}

bool is_known_idle(Machines const& m) {
  return (in_flight_known(m) || m.evidence.proves_idle()) && !m.recovery.awaits_peers() &&
         m.ledger.in_flight() == 0 && !m.tally.work_was_lost() && !m.unseen.all();
}

InFlightSource source(Machines const& m) {
  if (m.evidence.ingress_counts()) {
    return InFlightSource::ingress;
  }
  if (in_flight_known(m)) {
    return InFlightSource::sdk;
  }
  bool const is_known = m.evidence.gauges.in_flight() > 0 || m.evidence.proves_idle();
  return is_known ? InFlightSource::gauges : InFlightSource::unknown;
}

std::size_t reported_in_flight(Machines const& m) {
  return source(m) == InFlightSource::gauges ? m.evidence.gauges.in_flight()
                                             : m.ledger.roots_in_flight();
}

Facts facts(Machines const& m) {
  Facts facts;
  facts.registries_settled = m.registrations.are_settled();
  facts.registries_confirmed = m.registrations.are_confirmed();
  facts.in_flight_known = in_flight_known(m);
  facts.gauges_idle = m.evidence.proves_idle();
  facts.gauges_busy_at = m.evidence.gauges.busy_at();
  facts.has_gauges = m.settings.gauge_refresh.has_value();
  facts.recovering = m.recovery.awaits_peers();
  facts.unseen = m.unseen.of_peers().has_value();
  facts.ungraceful = m.endpoints.ungraceful_in_flight();
  facts.graceful = m.ledger.in_flight() - facts.ungraceful;
  return facts;
}

TokenProbe::Facts token_facts(Machines const& m) {
  Phase const phase = m.coordinator.phase();
  bool const is_counted = in_flight_known(m);
  bool const is_joined =
      m.coordinator.is_stopping() || (m.coordinator.clock.hook.get() && !hook_is_done(m));
  bool const drains = phase == Phase::draining || (phase == Phase::drained && is_joined);
  bool const lives = !m.shim.is_known() || m.engine.is_running();
  TokenProbe::Facts facts;
  facts.engine_takes = m.health.started() && lives && phase >= Phase::serving &&
                       phase <= Phase::drained && !engine_is_leaving(m) &&
                       m.evidence.rest.may_be_asked();
  facts.drains = drains && !is_counted && !m.recovery.awaits_peers();
  facts.shows_zero = m.evidence.gauges.is_zero() && !m.evidence.gauges.load_is_zero();
  facts.is_idle = phase == Phase::serving && !m.own.is_restarting() && m.ledger.in_flight() == 0;
  facts.is_counted = is_counted;
  return facts;
}

// --- the engine ----------------------------------------------------------------------------------

bool engine_is_live(Machines const& m) {
  return m.shim.is_known() && m.engine.is_running();
}

bool is_silent(Machines const& m) {
  return m.coordinator.phase() == Phase::serving && !m.coordinator.is_stopping() &&
         m.health.verdict() == Verdict::unresponsive;
}

bool engine_is_leaving(Machines const& m) {
  return m.prestop.awaiting().has_value() || hook_has_returned(m);
}

bool hook_has_returned(Machines const& m) {
  return m.coordinator.clock.hook.get() && m.prestop.is_answered();
}

bool hook_is_done(Machines const& m) {
  return m.coordinator.clock.hook.is_over() || !is_draining(m.coordinator.phase());
}

std::optional<Instant> rest_gone_by(Machines const& m) {
  auto const deadline = m.coordinator.deadline();
  return deadline ? m.engine.tree().gone_by(m.coordinator.clock.budgets().killed_by(*deadline))
                  : std::nullopt;
}

bool has_own_container(Machines const& m) {
  return m.shim.is_known() ? !m.shim.runs_here() : m.recovery.had_own_container();
}

bool accepts_shim(Machines const& m, std::string_view boot) {
  if (!m.shim.is_known() && m.coordinator.is_stopping() && !m.recovery.boot().empty()) {
    return m.recovery.boot() == boot;  // the stop of another boot is not finished
  }
  return !m.shim.is_known() || m.shim.boot() == boot;
}

// --- phase 3 and the end -------------------------------------------------------------------------

bool sdk_may_clean_up(Machines const& m) {
  return m.recovery.awaits_peers() || m.peers.has_connected();
}

Instant cleanup_limit(Machines const& m) {
  Instant const deadline = *m.coordinator.deadline();
  auto const gone_at = m.engine.gone_at();
  return gone_at ? std::min(deadline, m.engine.tree().counted_from(*gone_at) + kAfterEngine)
                 : deadline;
}

Instant cancels_out_by(Machines const& m) {
  Instant const began = m.coordinator.phases().began();
  if (m.ledger.of_peer(kIngressPeer) > 0) {
    Duration const margin = m.coordinator.clock.budgets().kill_margin / 2;
    return std::max(began, std::min(cleanup_limit(m), *m.coordinator.deadline() - margin));
  }
  auto const& peers = m.peers.all();
  bool const all_answered = std::none_of(peers.begin(), peers.end(), [&m](auto const& entry) {
    return entry.second.connected && m.ledger.of_peer(entry.first) > 0;
  });
  return all_answered ? began
                      : std::min(began + m.coordinator.clock.budgets().settle, cleanup_limit(m));
}

int exit_code_now(Machines const& m) {
  auto const& stop = m.coordinator.stop();
  if (!stop) {
    return kExitClean;
  }
  return exit_code({.mode = stop->mode,
                    .stopped_in_starting = stop->in_starting,
                    .engine_killed = m.engine.was_killed(),
                    .died_with_work = m.tally.has_died_with_work(),
                    .caused_by_engine_exit = stop->cause.kind == CauseKind::engine_exited,
                    .could_not_run = m.engine.could_not_run(),
                    .engine = m.engine.exit(),
                    .on_exit = m.settings.on_exit});
}

std::optional<Instant> deletion_disproved_at(Machines const& m) {
  if (m.coordinator.is_stopping()) {
    return std::nullopt;
  }
  Duration const unlimited = m.settings.shutdown.grace_period + kPodMargin;
  auto const& hook = m.coordinator.clock.hook.get();
  return m.prestop.deletion.disproved_by(m.settings.pod_grace.value_or(unlimited),
                                         hook ? std::optional(hook->called_at) : std::nullopt);
}

// --- what is reported ----------------------------------------------------------------------------

std::optional<Instant> next_deadline(Machines const& m) {
  if (m.own.has_ended()) {
    return std::nullopt;
  }
  std::optional<Instant> at = m.recovery.next_deadline();
  at = earlier_of(at, m.own.next_deadline());
  at = earlier_of(at, m.prestop.next_deadline());
  at = earlier_of(at, deletion_disproved_at(m));
  at = earlier_of(at, m.shim.next_deadline());
  at = earlier_of(at, m.peers.next_deadline());
  if (!m.coordinator.is_stopping() && !engine_is_leaving(m)) {
    at = earlier_of(at, m.health.next_deadline());
  }
  at = earlier_of(at, earlier_of(rest_gone_by(m), m.engine.tree().main_ends_by()));
  // This is asked after each step, so facts are collected only where they decide something.
  if (is_draining(m.coordinator.phase())) {
    at = earlier_of(at, m.coordinator.next_deadline(facts(m)));
  }
  if (m.evidence.token.canary_at()) {
    at = earlier_of(at, m.evidence.token.next_deadline(token_facts(m)));
  }
  at = earlier_of(at, m.admission.next_deadline());
  at = earlier_of(at, m.notified.is_busy() ? m.loads.busy_until() : std::nullopt);
  if (m.coordinator.phase() == Phase::cleaning_up) {
    at = earlier_of(at, m.cleanup.next_deadline(cleanup_limit(m), m.coordinator.clock.budgets()));
    if (m.cleanup.is_done()) {
      at = earlier_of(at, cancels_out_by(m));
    }
  }
  return at;
}

AdmissionState admission_state(Machines const& m) {
  return {.limits = m.admission.limits(),
          .thresholds = m.loads.thresholds(),
          .running = m.admission.running(),
          .waiting = m.admission.waiting(),
          .without_first_byte = m.admission.without_first_byte(),
          .busy = m.notified.is_busy()};
}

namespace {

/// The time at which what runs is cut, as far as it is known.
std::optional<Instant> cut_at(Machines const& m) {
  Phase const phase = m.coordinator.phase();
  if (phase != Phase::deregistering && phase != Phase::draining) {
    return std::nullopt;
  }
  // A stop does not use its whole time if nothing shows what runs.
  if (m.coordinator.is_stopping() && source(m) == InFlightSource::unknown) {
    return phase == Phase::draining ? m.coordinator.next_deadline(facts(m)) : std::nullopt;
  }
  return m.coordinator.clock.stop_cancel_point();
}

}  // namespace

Snapshot snapshot(Machines const& m) {
  Snapshot s;
  s.phase = m.coordinator.phase();
  s.phase_began = m.coordinator.phases().began();
  s.stop = m.coordinator.stop();
  s.cut_at = cut_at(m);
  s.verdict = m.health.verdict();
  s.verdict_reason = m.health.reason();
  s.silent = is_silent(m);
  s.source = source(m);
  s.in_flight = reported_in_flight(m);
  s.late = m.tally.late();
  s.active_graceful = m.endpoints.active_graceful();
  s.unconfirmed_cancels = m.ledger.unconfirmed();
  s.shim_known = m.shim.is_known();
  s.shim_connected = m.shim.is_connected();
  s.engine = m.engine.state();
  s.deletion_seen = m.prestop.deletion.is_there();
  s.own_restart = m.own.is_restarting() ? std::optional(m.own.stage()) : std::nullopt;
  if (auto const& hook = m.coordinator.clock.hook.get()) {
    s.hook = {.called_at = hook->called_at,
              .limit = *m.coordinator.clock.hook_limit(),
              .deletion = hook->deletion,
              .waits = m.prestop.waits()};
  }
  if (auto const& awaiting = m.prestop.awaiting()) {
    s.replacement = {.since = awaiting->since, .condemned = awaiting->condemned};
    s.verdict = awaiting->verdict;
    s.verdict_reason =
        awaiting->condemned ? std::string_view(awaiting->why) : "waiting for another engine";
  }
  s.registered = m.registrations.is_registered() || m.registrations.is_empty();
  s.peers = m.peers.connected_count();
  s.ignored_signals = m.tally.ignored_signals();
  s.admission = admission_state(m);
  return s;
}

Report make_report(Machines const& m, Instant now) {
  Report r;
  if (auto const& stop = m.coordinator.stop()) {
    r.cause = name(stop->cause.kind);
    r.detail = stop->cause.detail;
    r.mode = stop->mode;
    r.stopped_in_starting = stop->in_starting;
    r.time_left = stop->deadline - now;
  }
  r.exit_code = exit_code_now(m);
  r.deregistering = m.coordinator.phases().record(Phase::deregistering);
  r.draining = m.coordinator.phases().record(Phase::draining);
  r.cleaning_up = m.coordinator.phases().record(Phase::cleaning_up);
  r.requests = m.tally.outcomes();
  r.unseen = m.unseen.all();
  r.source = r.unseen ? InFlightSource::unknown : source(m);
  r.longest_request = m.tally.longest_request();
  r.in_flight_at_end = m.tally.in_flight_at_end();
  for (std::size_t i = 0; i < kCleanupItems; ++i) {
    r.cleanup[i] = m.cleanup.record(static_cast<CleanupItem>(i));
  }
  r.registries = m.registrations.records();
  r.engine_known = m.shim.is_known();
  r.engine = m.engine.state();
  r.engine_exit = m.engine.exit();
  r.engine_ordered = m.engine.is_ordered();
  r.rest_alive = m.engine.tree().alive();
  r.rest_names = m.engine.tree().names();
  r.ignored_signals = m.tally.ignored_signals();
  return r;
}

}  // namespace lastcall::lifecycle::rules
