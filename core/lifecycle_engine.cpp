// What is heard of the engine: its shim, its process, its checks and its gauges.
#include <algorithm>
#include <string>
#include <utility>

#include "core/check.hpp"
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr int kSigKill = 9;  // <csignal> of the C++ standard does not name it

std::string exit_text(EngineExit const& exit, bool ordered) {
  if (exit.oom) {
    return exit.signal == kSigKill
               ? "the engine was killed for lack of memory (oom)"
               : "the engine ended after a process of it was killed for lack of memory (oom)";
  }
  if (ordered) {
    return "the engine ended on the shim's stop signal, with " +
           (exit.signal != 0 ? "signal " + std::to_string(exit.signal)
                             : "code " + std::to_string(exit.code));
  }
  if (exit.signal != 0) {
    return "the engine was killed by signal " + std::to_string(exit.signal) + " (" +
           std::to_string(128 + exit.signal) + ")";
  }
  return "the engine exited by itself with code " + std::to_string(exit.code);
}

}  // namespace

// --- the shim ------------------------------------------------------------------------------------

void Lifecycle::on(Instant now, ShimHello const& hello) {
  LC_ASSERT(accepts_shim(hello.boot));
  bool const same_life = shim_.has_value();
  if (awaiting_) {
    end_awaiting("its shim tells of it");
  }
  rests_ = false;
  shim_ = Shim{.boot = hello.boot, .connected = true, .run = hello.run};
  recovered_ = true;
  remembered_.reset();  // this shim's memory is to be written
  will_.reset();
  if (record_kept_) {
    record_kept_ = false;
    act(ForgetStopRecord{});
  }
  engine_ordered_ = engine_ordered_ || hello.ordered;
  EngineState const before = engine_;
  if (hello.engine != EngineState::exited) {
    engine_ = hello.engine;
  }
  if (hello.engine == EngineState::running && before != EngineState::running) {
    health_.engine_started(now, hello.started_at);
  }
  if (hello.engine == EngineState::running) {
    engine_gone_at_.reset();
    tree_.forget();
    cleanup_.engine_back(now);
  }
  if (!same_life) {
    restore(now, hello.blob, hello.stop_at || hello.engine == EngineState::exited);
  }
  bool const signal_came_first =
      hello.stop_at && hello.exited_at && *hello.stop_at <= *hello.exited_at;
  if (signal_came_first && engine_ == EngineState::waiting) {
    engine_ = EngineState::running;  // as it was then
  }
  bool const told_late = signal_came_first && !coordinator_.is_stopping();
  if (signal_came_first) {
    stop_for_held_signal(now, hello);
  }
  if (hello.engine == EngineState::exited) {
    engine_exited(now, {hello.exit, hello.ordered, hello.alive}, hello.exited_at);
    // What was in flight when it ended, nobody can say now.
    died_with_work_ =
        died_with_work_ || (told_late && !engine_ordered_ && !coordinator_.stop()->in_starting);
    engine_gone_at_ = hello.exited_at ? hello.exited_at : engine_gone_at_;
    if (hello.alive) {
      on(now, EngineTreeSeen{*hello.alive, {}});
    }
  }
  if (!signal_came_first) {
    stop_for_held_signal(now, hello);
  }
  resume_shim(now, hello.ordered);
}

void Lifecycle::stop_for_held_signal(Instant now, ShimHello const& hello) {
  if (!hello.stop_at) {
    return;
  }
  if (coordinator_.is_stopping()) {
    heed_earlier_signal(*hello.stop_at);
  } else {
    stop(now, {CauseKind::signal, "TERM"}, StopMode::graceful, *hello.stop_at);
  }
}

/// Says again what a lost connection may have swallowed.
void Lifecycle::resume_shim(Instant now, bool ordered) {
  if (coordinator_.phase() == Phase::exited) {
    if (!final_report_) {
      // An earlier life remembered its end just before it was to publish this: told twice is better
      // than never.
      final_report_ = make_report(now);
      act(PublishReport{});
    }
    act(ExitShim{exit_code_now()});
    end_supervisor_or_rearm(now);
    return;
  }
  if (coordinator_.is_stopping()) {
    announce();
  } else if (engine_ == EngineState::waiting) {
    act(StartEngine{});
  }
  if (engine_is_live() && cleanup_.is_active()) {
    if (cleanup_.kill_sent()) {
      act(SignalEngine{"KILL", true});
    } else if (cleanup_.term_sent() && !ordered) {
      act(SignalEngine{settings_.stop_signal, false});
    }
  }
}

void Lifecycle::on(Instant now, ShimDisconnected const& gone) {
  if (!shim_ || !shim_->connected) {
    return;
  }
  shim_->connected = false;
  shim_->oom = gone.oom;
  if (coordinator_.phase() == Phase::exited) {
    if (!supervisor_ended_) {
      rearm(now);
    }
    return;
  }
  remembered_.reset();  // from here on `stop.json` must hold it
  if (!gone.watched) {
    shim_->lost_at = now + kShimReturn;
  }
}

void Lifecycle::on(Instant now, ShimGone const& gone) {
  if (shim_) {
    shim_->oom = shim_->oom || gone.oom;
    shim_lost(now);
  }
}

void Lifecycle::shim_lost(Instant now) {
  shim_->connected = false;
  shim_->gone = true;
  shim_->lost_at.reset();
  if (coordinator_.phase() == Phase::exited) {
    if (!supervisor_ended_) {
      rearm(now);
    }
    return;
  }
  // It was PID 1 of the engine's container: nothing of the engine is left.
  bool const unordered = engine_ == EngineState::running && !engine_ordered_;
  if (engine_ == EngineState::running) {
    engine_exit_.oom = shim_->oom;
  }
  engine_ = EngineState::exited;
  engine_gone_at_ = now;
  if (unordered || !coordinator_.is_stopping()) {
    judge_unordered_exit(now, CauseKind::shim_lost,
                         shim_->oom ? "the engine's container was killed for lack of memory (oom)"
                                    : "the engine container's shim is gone");
  }
  tree_.end(now);
  cleanup_.engine_gone(now, now);
}

// --- the engine's process ------------------------------------------------------------------------

void Lifecycle::on(Instant now, EngineStarted const&) {
  if (engine_ == EngineState::waiting) {
    engine_ = EngineState::running;
    tree_.forget();
    health_.engine_started(now);
  }
}

void Lifecycle::on(Instant now, EngineExited const& exited) {
  engine_exited(now, exited, std::nullopt);
}

/// `at`: where it ended before we were told.
void Lifecycle::engine_exited(Instant now, EngineExited const& exited, std::optional<Instant> at) {
  auto const& [exit, ordered, alive] = exited;
  if (engine_ == EngineState::exited) {
    return;
  }
  engine_ = EngineState::exited;
  engine_gone_at_ = now;
  engine_exit_ = exit;
  engine_ordered_ = engine_ordered_ || ordered;
  judge_rest(now, at.value_or(now), alive);
  if (coordinator_.phase() == Phase::exited) {
    return;
  }
  auto const deadline = coordinator_.deadline();
  if (engine_ordered_ && deadline) {
    // The shim KILLs at the same point by itself, whoever of us was first.
    bool const kill_was_due =
        engine_killed_ || now >= coordinator_.budgets().engine_kill_at(*deadline);
    engine_killed_ = kill_was_due && exit.signal == kSigKill;
    // Our order crossed its death: what went down with it was not stopped by us.
    died_with_work_ = died_with_work_ || (!ordered && (work_was_lost() || aborted_with_work_));
    if (coordinator_.is_draining()) {
      // Nobody is left to drain for. It did not fail: its time was up before what ran was told.
      if (ordered) {
        cancel_all(now, CancelMode::kill, CancelReason::grace_timeout);
      }
      fatal(now, CauseKind::engine_exited, exit_text(exit, ordered));
    }
  } else {
    judge_unordered_exit(now, CauseKind::engine_exited, exit_text(exit, engine_ordered_));
  }
  if (tree_.state() == EngineTree::State::gone) {
    cleanup_.engine_gone(now, rest_gone_at(now, alive));
  } else {
    cleanup_.assume_term_sent();
    cleanup_.engine_back(now);  // a list that an earlier life began does not know of the rest yet
  }
}

/// What an engine that was asked to end leaves behind is a part of it, until the shim has seen the
/// last of it.
void Lifecycle::judge_rest(Instant now, Instant at, std::optional<std::uint32_t> alive) {
  bool const is_awaited = engine_ordered_ && coordinator_.deadline() && !cleanup_.kill_sent();
  if (!is_awaited || !alive) {
    tree_.end(now);
    return;
  }
  bool const takes_workers_along = settings_.main_ends_workers && engine_exit_.signal == 0;
  tree_.left_behind(at, *alive, takes_workers_along ? Duration{0} : settings_.rest_grace);
}

/// When a shim that does not tell has killed what an engine that was asked to end has left behind.
Instant Lifecycle::rest_gone_at(Instant now, std::optional<std::uint32_t> alive) const {
  auto const deadline = coordinator_.deadline();
  if (!engine_ordered_ || !deadline || cleanup_.kill_sent() || alive) {
    return now;
  }
  Instant const kill_at = coordinator_.budgets().engine_kill_at(*deadline);
  return std::max(now, std::min(now + kRestOfTree, kill_at) + kKillTaken);
}

std::optional<Instant> Lifecycle::rest_gone_by() const {
  auto const deadline = coordinator_.deadline();
  return deadline ? tree_.gone_by(coordinator_.budgets().engine_kill_at(*deadline)) : std::nullopt;
}

void Lifecycle::on(Instant now, EngineTreeSeen const& seen) {
  bool const was_awaited = tree_.state() == EngineTree::State::leaving;
  tree_.seen(now, seen);
  if (was_awaited && tree_.state() == EngineTree::State::gone) {
    cleanup_.engine_gone(now, now);
  }
}

void Lifecycle::apply_rest(Instant now) {
  if (auto const limit = tree_.main_ends_by(); limit && now >= *limit) {
    tree_.main_killed();
    act(SignalEngine{"KILL", false});
  }
  if (auto const limit = rest_gone_by(); limit && now >= *limit) {
    tree_.give_up(now);
    cleanup_.engine_gone(now, now);
  }
}

void Lifecycle::on(Instant now, EngineProcessDied const& death) {
  if (engine_ != EngineState::running) {
    return;  // it follows the main process
  }
  tree_.died(now, death);
  bool const is_essential = matches_any(settings_.essential_processes, death.name);
  if (coordinator_.is_stopping()) {
    if (is_essential) {
      essential_died_in_stop(now);
    }
  } else if (engine_is_leaving()) {
    return;  // in preStop mode the engine has been asked by others
  } else if (health_.started() && is_essential) {
    health_.condemn(tree_.first_death(now));
  } else {
    act(RunChecks{});
  }
}

/// Nothing is left to drain for; after our order it is as it should be, and the server follows.
void Lifecycle::essential_died_in_stop(Instant now) {
  if (coordinator_.is_draining()) {
    fatal(now, CauseKind::dead, tree_.first_death(now));
  } else if (cleanup_.term_sent() && !cleanup_.kill_sent()) {
    tree_.main_bereft(now, settings_.rest_grace);
  }
}

/// A death that was confirmed just now is explained by the first one of the tree.
std::string Lifecycle::with_first_death(Instant now, std::string detail) const {
  std::string const first = tree_.first_death(now);
  bool const is_new = !first.empty() && detail != first;
  return is_new ? detail + "; " + first : detail;
}

/// The engine ended and nobody had ordered it.
void Lifecycle::judge_unordered_exit(Instant now, CauseKind kind, std::string detail) {
  bool const in_drain = coordinator_.is_stopping() && coordinator_.is_draining();
  if (in_drain) {
    died_with_work_ = !is_known_idle();
  } else if (coordinator_.phase() == Phase::cleaning_up) {
    // Work that we cut ourselves is our decision; what a fatal event cut went down with the engine.
    died_with_work_ = died_with_work_ || aborted_with_work_;
  }
  if (!coordinator_.is_stopping() || in_drain) {
    fatal(now, kind, with_first_death(now, std::move(detail)));
  }
}

// --- checks and gauges ---------------------------------------------------------------------------

void Lifecycle::on(Instant now, CheckFinished const& result) {
  if (!coordinator_.is_stopping() && !engine_is_leaving()) {
    health_.check_finished(now, result);  // a stop is beyond verdicts
  }
}

void Lifecycle::on(Instant now, EngineProcessStopped const& stopped) {
  if (!coordinator_.is_stopping() && !engine_is_leaving()) {
    health_.process_stopped(now, stopped.name);
  }
}

void Lifecycle::on(Instant /*now*/, HealthLimitsChanged const& limits) {
  health_.limits_changed(limits);
}

void Lifecycle::on(Instant now, GaugesRead const& gauges) {
  health_.gauges_read(now, gauges.tokens.has_value());
  if (gauges_.read(now, gauges, token_.is_out() ? 1 : 0)) {
    progressed(now);
  }
  if (gauges_.in_flight() > 0) {
    token_.work_seen();
  }
}

void Lifecycle::on(Instant now, TokenSent const& sent) {
  if (token_.is_canary(sent.number)) {
    health_.canary_sent(now);
  }
}

void Lifecycle::on(Instant now, TokenAnswered const& answer) {
  auto const use = token_.answered(answer);
  if (use == TokenUse::barrier) {
    gauges_.await_reading();
  } else if (use == TokenUse::canary) {
    if (answer.outcome == TokenOutcome::generated) {
      health_.canary_answered(now);
    } else {
      health_.canary_dropped();
    }
  }
  if (use && answer.outcome == TokenOutcome::generated) {
    progressed(now);
  }
}

}  // namespace lastcall::lifecycle
