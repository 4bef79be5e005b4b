#include "core/engine_rules.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/cleanup_rules.hpp"
#include "core/event_rules.hpp"
#include "core/hook_rules.hpp"
#include "core/memory_rules.hpp"
#include "core/questions.hpp"
#include "core/stop_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

/// The first death in the tree explains a death of the engine that was confirmed just now.
std::string with_first_death(Machines const& m, Instant now, std::string detail) {
  std::string const first = m.engine.tree().first_death(now);
  bool const is_new = !first.empty() && detail != first;
  return is_new ? detail + "; " + first : detail;
}

/// The engine ended without an order.
void judge_unordered_exit(Machines& m, Instant now, CauseKind kind, std::string detail) {
  bool const in_drain = m.coordinator.is_stopping() && is_draining(m.coordinator.phase());
  if (in_drain) {
    m.tally.judge_death(!is_known_idle(m));
  } else if (m.coordinator.phase() == Phase::cleaning_up && m.tally.was_aborted_with_work()) {
    m.tally.died_with_work();  // the work that a fatal event cut was lost with the engine
  }
  if (!m.coordinator.is_stopping() || in_drain) {
    fatal(m, now, kind, with_first_death(m, now, std::move(detail)));
  }
}

CanarySilence::Answer canary_answer(TokenOutcome outcome) {
  switch (outcome) {
    case TokenOutcome::generated:
      return CanarySilence::Answer::proof;
    case TokenOutcome::refused:
      return CanarySilence::Answer::refused;
    case TokenOutcome::withheld:
      return CanarySilence::Answer::unproven;
    case TokenOutcome::empty:
      return CanarySilence::Answer::empty;
  }
  return CanarySilence::Answer::unproven;
}

/// Processes that an engine leaves behind when it was asked to end are a part of it, until the shim
/// has seen the last of them.
void judge_rest(Machines& m, Instant now, Instant at, std::optional<std::uint32_t> alive) {
  bool const is_awaited =
      m.engine.is_ordered() && m.coordinator.deadline() && !m.cleanup.kill_sent();
  if (!is_awaited || !alive) {
    m.engine.tree().end(now);
    return;
  }
  m.engine.tree().left_behind(at, *alive, m.settings.rest_grace);
}

/// Whether the server that ends its workers has gone and left nothing but workers behind.
bool is_forsaken(Machines const& m, EngineTreeSeen const& rest) {
  return m.settings.main_ends_workers && m.coordinator.phase() == Phase::cleaning_up &&
         m.engine.tree().state() == EngineTree::State::leaving &&
         !m.engine.tree().is_rest_killed() && !m.cleanup.kill_sent() &&
         are_workers(m.settings.essential_processes, rest);
}

/// The time at which the rest of the engine is gone, if its shim does not report the tree: the shim
/// then kills what an engine that was asked to end has left behind.
Instant rest_gone_at(Machines const& m, Instant now, std::optional<std::uint32_t> alive) {
  auto const deadline = m.coordinator.deadline();
  if (!m.engine.is_ordered() || !deadline || m.cleanup.kill_sent() || alive) {
    return now;
  }
  Instant const kill_at = m.coordinator.clock.budgets().engine_kill_at(*deadline);
  return std::max(now, std::min(now + kRestOfTree, kill_at) + kKillTaken);
}

/// The engine ended on an order, in a stop.
void ordered_exit(Machines& m, Instant now, EngineExited const& exited, Instant deadline) {
  bool const ordered_by_shim = exited.ordered;
  // After an absence of the supervisor `now` is held back before the deadline that it missed, and
  // the shim may have killed the engine since.
  Instant const ended_at = std::max(now, exited.at.value_or(now));
  m.engine.judge_kill(ended_at >= m.coordinator.clock.budgets().engine_kill_at(deadline));
  // Our order crossed its death, so the work that was lost with it was not stopped by us.
  if (!ordered_by_shim && (m.tally.work_was_lost() || m.tally.was_aborted_with_work())) {
    m.tally.died_with_work();
  }
  if (is_draining(m.coordinator.phase())) {
    // Nothing is left to drain. The engine did not fail: its time was up before the running
    // requests were notified.
    if (ordered_by_shim) {
      cancel_all(m, now, CancelMode::kill, CancelReason::grace_timeout);
    }
    fatal(m, now, CauseKind::engine_exited, m.engine.exit_text(ordered_by_shim));
  }
}

void engine_exited(Machines& m, Instant now, EngineExited const& exited, Reported when) {
  if (m.engine.has_exited()) {
    return;
  }
  m.engine.exited(now, exited, when);
  Instant const at = when == Reported::later ? exited.at.value_or(now) : now;
  judge_rest(m, now, at, exited.alive);
  if (m.coordinator.phase() == Phase::exited) {
    return;
  }
  auto const deadline = m.coordinator.deadline();
  if (m.engine.is_ordered() && deadline) {
    ordered_exit(m, now, exited, *deadline);
  } else {
    judge_unordered_exit(m, now, CauseKind::engine_exited,
                         m.engine.exit_text(m.engine.is_ordered()));
  }
  if (m.engine.tree().state() == EngineTree::State::gone) {
    m.cleanup.engine_gone(now, rest_gone_at(m, now, exited.alive));
  } else {
    m.cleanup.assume_term_sent();
    m.cleanup.engine_back(now);  // a list that an earlier life began does not include the rest yet
  }
}

/// The shim is lost. It was PID 1 of the engine's container, so nothing of the engine is left.
void shim_lost(Machines& m, Instant now) {
  if (m.coordinator.phase() == Phase::exited) {
    if (!m.own.has_ended()) {
      rearm(m, now);
    }
    return;
  }
  bool const unordered = m.engine.is_running() && !m.engine.is_ordered();
  bool const oom = m.shim.was_killed_for_memory();
  m.engine.lost(now, oom);
  if (unordered || !m.coordinator.is_stopping()) {
    std::string_view detail = "the engine container's shim is gone";
    if (oom) {
      detail = "the engine's container was killed for lack of memory (oom)";
    } else if (m.coordinator.is_stopping() && is_draining(m.coordinator.phase())) {
      // Nothing failed: the kubelet ends a pod like this if its grace is shorter than was known
      // here.
      detail =
          "the engine container's shim was gone before the stop was over: the pod's grace may "
          "be shorter than the configured one";
      cancel_all(m, now, CancelMode::kill, CancelReason::grace_timeout);
    }
    judge_unordered_exit(m, now, CauseKind::shim_lost, std::string(detail));
  }
  m.engine.tree().end(now);
  m.cleanup.engine_gone(now, now);
}

void stop_for_held_signal(Machines& m, Instant now, ShimHello const& hello) {
  if (!hello.stop_at) {
    return;
  }
  if (m.coordinator.is_stopping()) {
    heed_earlier_signal(m, *hello.stop_at);
  } else {
    stop(m, now, {CauseKind::signal, "TERM"}, StopMode::graceful, *hello.stop_at);
  }
}

/// Repeats orders that may have been lost with the connection.
void resume_shim(Machines& m, Instant now, bool ordered) {
  if (m.coordinator.phase() == Phase::exited) {
    if (!m.memory.final_report()) {
      // An earlier life remembered its end just before it was to publish this report. To report it
      // twice is better than never.
      m.memory.publish(make_report(m, now));
      m.orders.act(PublishReport{});
    }
    m.orders.act(ExitShim{exit_code_now(m)});
    end_supervisor_or_rearm(m, now);
    return;
  }
  if (m.coordinator.is_stopping()) {
    announce(m);
  } else if (m.engine.state() == EngineState::waiting) {
    m.orders.act(StartEngine{});
  }
  if (engine_is_live(m) && m.cleanup.is_active()) {
    if (m.cleanup.kill_sent()) {
      m.orders.act(SignalEngine{"KILL", true});
    } else if (m.cleanup.term_sent() && !ordered) {
      m.orders.act(SignalEngine{m.settings.stop_signal, false});
    }
  }
}

/// Nothing is left to drain. After an order of ours this death is expected, and the server follows.
void essential_died_in_stop(Machines& m, Instant now, EngineProcessDied const& death) {
  if (is_draining(m.coordinator.phase())) {
    fatal(m, now, CauseKind::dead, m.engine.tree().first_death(now));
  } else if (m.cleanup.term_sent() && !m.cleanup.kill_sent() &&
             is_last_of(m.settings.essential_processes, death)) {
    m.engine.tree().main_bereft(now, std::min(m.settings.rest_grace, kBereft));
  }
}

}  // namespace

// --- the shim ------------------------------------------------------------------------------------

void on(Machines& m, Instant now, ShimHello const& hello) {
  LC_ASSERT(accepts_shim(m, hello.boot));
  bool const same_life = m.shim.is_known();
  if (m.prestop.awaiting()) {
    end_awaiting(m, "its shim connected");
  }
  m.shim.hello(hello);
  m.recovery.end();
  m.memory.forget_written();  // this shim does not have it yet, so it must be written again
  m.memory.leave(std::nullopt);
  if (m.memory.take_record()) {
    m.orders.act(ForgetStopRecord{});
  }
  if (m.engine.reported_by(hello)) {
    m.health.startup.engine_started(now, hello.started_at);
  }
  if (hello.engine == EngineState::running) {
    m.cleanup.engine_back(now);
  }
  bool const has_exited = hello.engine == EngineState::exited;
  if (!same_life) {
    restore(m, now, hello.blob, hello.stop_at || has_exited);
  }
  bool const signal_came_first =
      hello.stop_at && hello.exited_at && *hello.stop_at <= *hello.exited_at;
  bool const reported_late = signal_came_first && !m.coordinator.is_stopping();
  if (signal_came_first) {
    m.engine.assume_ran();
    stop_for_held_signal(m, now, hello);
  }
  if (has_exited) {
    engine_exited(m, now, {hello.exit, hello.ordered, hello.alive, hello.exited_at},
                  Reported::later);
    if (reported_late && !m.engine.is_ordered() && !m.coordinator.stop()->in_starting) {
      m.tally.died_with_work();  // it is unknown now what was in flight when the engine ended
    }
    if (hello.exited_at) {
      m.engine.ended_at(*hello.exited_at);
    }
    if (hello.alive) {
      on(m, now, EngineTreeSeen{*hello.alive, {}});
    }
  }
  if (!signal_came_first) {
    stop_for_held_signal(m, now, hello);
  }
  resume_shim(m, now, hello.ordered);
}

void on(Machines& m, Instant now, ShimDisconnected const& gone) {
  if (!m.shim.disconnected(now, gone)) {
    return;
  }
  if (m.coordinator.phase() != Phase::exited) {
    m.memory.forget_written();  // from here on `stop.json` must have it
  } else if (!m.own.has_ended()) {
    rearm(m, now);
  }
}

void on(Machines& m, Instant now, ShimGone const& gone) {
  if (m.shim.is_known()) {
    m.shim.lost(gone.oom);
    shim_lost(m, now);
  }
}

void apply_shim_loss(Machines& m, Instant now) {
  if (auto const limit = m.shim.next_deadline(); limit && now >= *limit) {
    m.shim.lost(false);
    shim_lost(m, now);
  }
}

// --- the engine's process ------------------------------------------------------------------------

void on(Machines& m, Instant now, EngineStarted const&) {
  if (m.engine.started()) {
    m.health.startup.engine_started(now);
  }
}

void on(Machines& m, Instant now, EngineExited const& exited) {
  engine_exited(m, now, exited, Reported::at_once);
}

void on(Machines& m, Instant now, EngineTreeSeen const& seen) {
  bool const was_awaited = m.engine.tree().state() == EngineTree::State::leaving;
  m.engine.tree().seen(now, seen);
  if (was_awaited && m.engine.tree().state() == EngineTree::State::gone) {
    m.cleanup.engine_gone(now, now);
  } else if (is_forsaken(m, seen)) {
    m.engine.tree().rest_killed(now);
    m.orders.act(SignalEngine{"KILL", true});
  }
}

void apply_rest(Machines& m, Instant now) {
  if (auto const limit = m.engine.tree().main_ends_by(); limit && now >= *limit) {
    m.engine.tree().main_killed();
    m.orders.act(SignalEngine{"KILL", false});
  }
  if (auto const limit = rest_gone_by(m); limit && now >= *limit) {
    m.engine.tree().give_up(now);
    m.cleanup.engine_gone(now, now);
  }
}

void on(Machines& m, Instant now, EngineProcessDied const& death) {
  if (!m.engine.is_running()) {
    return;  // the rest of the tree is expected to follow the main process
  }
  m.engine.tree().died(now, death);
  bool const is_essential = matches_any(m.settings.essential_processes, death.name);
  if (m.coordinator.is_stopping()) {
    if (is_essential) {
      essential_died_in_stop(m, now, death);
    }
  } else if (engine_is_leaving(m)) {
    return;  // in preStop mode it was the kubelet that asked the engine to end
  } else if (m.health.started() && is_essential) {
    m.health.condemn(m.engine.tree().first_death(now));
  } else {
    m.orders.act(RunChecks{});
  }
}

// --- checks and gauges ---------------------------------------------------------------------------

void on(Machines& m, Instant now, CheckFinished const& result) {
  if (!m.coordinator.is_stopping() && !engine_is_leaving(m)) {
    m.health.check_finished(now, result);  // once a stop is under way, verdicts change nothing
  }
}

void on(Machines& m, Instant now, EngineProcessStopped const& stopped) {
  if (!m.coordinator.is_stopping() && !engine_is_leaving(m)) {
    bool const is_essential = matches_any(m.settings.essential_processes, stopped.name);
    m.health.process_stopped(now, stopped.name, is_essential && m.settings.token.canary);
  }
}

void on(Machines& m, Instant /*now*/, HealthLimitsChanged const& limits) {
  m.health.limits_changed(limits);
}

void on(Machines& m, Instant now, GaugesRead const& gauges) {
  bool const moved = m.evidence.gauges.read(now, gauges, m.evidence.token.own());
  bool const has_tokens = gauges.tokens && m.settings.health.tokens_show_stalls;
  m.health.progress.tokens_read(
      has_tokens ? std::optional(TokensRead{now, m.evidence.gauges.shows_work()}) : std::nullopt);
  if (moved) {
    progressed(m, now);
  }
  if (m.evidence.gauges.in_flight() > 0) {
    m.evidence.token.work_seen();
  }
}

void on(Machines& m, Instant now, EngineRests const& rest) {
  if (!rest.begins) {
    m.evidence.rest.ends();
    return;
  }
  m.evidence.rest.begins(now);
  m.health.responsiveness.no_proof_comes();  // a canary will give none
}

void on(Machines& m, Instant now, TokenSent const& sent) {
  m.evidence.token.sent(sent);
  if (m.evidence.token.is_canary(sent.number)) {
    m.health.progress.canary_sent(now);
  }
}

void on(Machines& m, Instant now, TokenAnswered const& answer) {
  auto const use = m.evidence.token.answered(answer);
  if (use == TokenUse::barrier) {
    m.evidence.gauges.await_reading();
  } else if (use == TokenUse::canary) {
    canary_answered(m.health, now, canary_answer(answer.outcome));
  }
  if (use && answer.outcome == TokenOutcome::generated) {
    progressed(m, now);
  }
}

// --- joint rules ---------------------------------------------------------------------------------

void progressed(Machines& m, Instant now) {
  m.health.progress.moved(now);
  m.evidence.token.progressed(now);
}

bool apply_verdict(Machines& m, Instant now) {
  if (m.coordinator.is_stopping() || engine_is_leaving(m)) {
    return false;  // a check has no effect once a stop has begun, or after a preStop drain
  }
  m.health.startup.process_known(m.shim.is_known());
  m.health.startup.process_running(m.engine.is_running());
  bool const engine_shows_work =
      m.settings.health.tokens_show_stalls && m.evidence.gauges.shows_work();
  std::size_t const given = m.ledger.in_flight() - m.ledger.waiting();
  std::size_t const work = given + (engine_shows_work ? m.evidence.gauges.in_flight() : 0);
  // Work that is frozen in an engine that was ordered to rest does not count as stalling.
  m.health.progress.in_flight(now, m.evidence.rest.rests() ? 0 : work);
  m.health.update(now);
  Verdict const verdict = m.health.verdict();
  if (m.notified.verdict(verdict)) {
    m.orders.act(VerdictChanged{verdict, m.health.reason()});
  }
  if (verdict == Verdict::dead || verdict == Verdict::wedged) {
    fatal(m, now, verdict == Verdict::dead ? CauseKind::dead : CauseKind::wedged,
          with_first_death(m, now, m.health.reason()));
    return true;
  }
  return false;
}

bool apply_token(Machines& m, Instant now) {
  TokenProbe::Facts const known = token_facts(m);
  m.evidence.token.observe(now, known);
  if (m.evidence.token.withdraws(known)) {
    canary_answered(m.health, now, CanarySilence::Answer::unproven);
    m.orders.act(WithdrawToken{});
    return true;
  }
  auto const ask = m.evidence.token.next(now, known);
  if (ask) {
    m.evidence.gauges.own_token_asked();
    m.orders.act(*ask);
  }
  return ask.has_value();
}

}  // namespace lastcall::lifecycle::rules
