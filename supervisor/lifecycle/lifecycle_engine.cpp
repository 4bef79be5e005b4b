// What is heard of the engine: its shim, its process, its checks and its gauges.
#include <string>
#include <utility>

#include "supervisor/lifecycle/check.hpp"
#include "supervisor/lifecycle/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr int kSigKill = 9;  // <csignal> of the C++ standard does not name it

std::string exit_text(EngineExit const& exit) {
  if (exit.oom) {
    return exit.signal == kSigKill
               ? "the engine was killed for lack of memory (oom)"
               : "the engine ended after a process of it was killed for lack of memory (oom)";
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
    engine_exited(now, hello.exit, hello.ordered);
    // What was in flight when it ended, nobody can say now.
    died_with_work_ =
        died_with_work_ || (told_late && !engine_ordered_ && !coordinator_.stop()->in_starting);
    engine_gone_at_ = hello.exited_at ? hello.exited_at : engine_gone_at_;
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
  cleanup_.engine_gone(now, now);
}

// --- the engine's process ------------------------------------------------------------------------

void Lifecycle::on(Instant now, EngineStarted const&) {
  if (engine_ == EngineState::waiting) {
    engine_ = EngineState::running;
    health_.engine_started(now);
  }
}

void Lifecycle::on(Instant now, EngineExited const& exited) {
  engine_exited(now, exited.exit, exited.ordered);
}

void Lifecycle::engine_exited(Instant now, EngineExit const& exit, bool ordered) {
  if (engine_ == EngineState::exited) {
    return;
  }
  engine_ = EngineState::exited;
  engine_gone_at_ = now;
  engine_exit_ = exit;
  engine_ordered_ = engine_ordered_ || ordered;
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
      fatal(now, CauseKind::engine_exited, exit_text(exit));  // nobody is left to drain for
    }
  } else {
    judge_unordered_exit(now, CauseKind::engine_exited, exit_text(exit));
  }
  cleanup_.engine_gone(now, rest_gone_at(now));
}

/// When the shim has killed what an engine that was asked to end has left behind.
Instant Lifecycle::rest_gone_at(Instant now) const {
  auto const deadline = coordinator_.deadline();
  if (!engine_ordered_ || !deadline || cleanup_.kill_sent()) {
    return now;
  }
  Instant const kill_at = coordinator_.budgets().engine_kill_at(*deadline);
  return std::max(now, std::min(now + kRestOfTree, kill_at) + kKillTaken);
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
    fatal(now, kind, std::move(detail));
  }
}

// --- checks and gauges ---------------------------------------------------------------------------

void Lifecycle::on(Instant now, CheckFinished const& result) {
  if (!coordinator_.is_stopping() && !engine_is_leaving()) {
    health_.check_finished(now, result);  // a stop is beyond verdicts
  }
}

void Lifecycle::on(Instant /*now*/, HealthLimitsChanged const& limits) {
  health_.limits_changed(limits);
}

void Lifecycle::on(Instant now, GaugesRead const& gauges) {
  if (gauges_.read(now, gauges)) {
    health_.progressed(now);
  }
}

}  // namespace lastcall::lifecycle
