// How a drain or stop begins and ends: signals, operators, fatal events, phase 3, exit and rearm.
#include <utility>

#include "core/check.hpp"
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {

// --- events --------------------------------------------------------------------------------------

void Lifecycle::on(Instant now, SupervisorStarted const&) {
  coordinator_.started(now);
  recovery_until_ = now + kRecoveryWindow;
}

void Lifecycle::on(Instant now, OwnSignal const& signal) {
  if (shim_ && shim_->run) {
    return;  // same container: the shim owns the signals
  }
  deletion_.signalled();
  note_deletion();
  if (hold_until_recovered(signal)) {
    return;
  }
  own_signal_ = true;
  if (coordinator_.phase() == Phase::exited) {
    end_supervisor_or_rearm(now);
  } else if (coordinator_.is_stopping()) {
    heed_second_signal(now, signal.name, !shim_);  // else the kubelet signals both containers once
  } else if (rests_ && coordinator_.phase() == Phase::starting && ledger_.in_flight() == 0) {
    // The stop was the engine's and is told: what ends now is only what served it.
    supervisor_ended_ = true;
    act(ExitSupervisor{0});
  } else if (shim_ && !deletion_.is_read()) {
    // Side by side this is our own restart, unless the shim reports a signal too or the pod is
    // read.
    if (!own_restart_) {
      own_restart_ = OwnRestart{.next = now + kOwnRestartDelay, .signalled_at = now};
    }
  } else {
    stop(now, {CauseKind::own_signal, signal.name}, StopMode::graceful, now);
  }
}

/// What else time decides the joint rules look at.
void Lifecycle::on(Instant now, TimerExpired const& expired) {
  if (expired.late > kOwnAbsence) {
    health_.listen_anew(now);
    gauges_.listen_anew(now);
  }
}

void Lifecycle::on(Instant now, StopSignalHeld const& signal) {
  bool const over = coordinator_.phase() == Phase::exited;
  if (!coordinator_.is_stopping()) {
    stop(now, {CauseKind::signal, signal.name}, StopMode::graceful, signal.at);
    return;
  }
  heed_earlier_signal(signal.at);
  heed_second_signal(now, signal.name, !over);
}

void Lifecycle::heed_second_signal(Instant now, std::string const& name, bool may_force) {
  if (settings_.second_signal == SecondSignal::ignore || !may_force) {
    signal_ignored(name);
    return;
  }
  act(DrainAborted{"second_signal", name});
  note_cut_work();
  cancel_all(now, CancelMode::kill, CancelReason::grace_timeout);
  bool const cleaning = coordinator_.phase() == Phase::cleaning_up;
  coordinator_.abort_drain(now, kMinimumTotal);
  if (cleaning) {
    announce();
  } else {
    note_phase_change();
    begin_cleanup(now, 0);
  }
  cleanup_.skip_to_engine(now);
}

void Lifecycle::on(Instant now, DrainRequested const& request) {
  if (hold_until_recovered(request)) {
    answer(true);
    return;
  }
  decided_ = true;
  if (request.exit && !coordinator_.is_stopping()) {
    stop(now, {CauseKind::operator_stop, "drain --exit"}, StopMode::graceful, now, request.timeout);
    answer(true);
  } else if (coordinator_.is_stopping() || coordinator_.is_draining()) {
    // Joins what is under way; a nearer limit for its requests holds for both.
    coordinator_.drain_is_asked_for();
    answer(request.timeout && coordinator_.limit_drain(now, *request.timeout));
  } else {
    count_anew();
    assume_earlier_registration();
    coordinator_.begin_drain(now, request.timeout);
    deregister_everywhere(now);
    note_phase_change();
    answer(true);
  }
}

void Lifecycle::on(Instant now, ResumeRequested const& request) {
  if (hold_until_recovered(request)) {
    answer(true);
    return;
  }
  decided_ = true;
  if (coordinator_.is_stopping()) {
    if (!replaying_held_) {
      act(Refuse{Refusal::conflict, "a stop is final: it cannot be resumed"});
    }
    return;
  }
  if (!coordinator_.is_draining()) {
    answer(false);
    return;
  }
  if (own_restart_) {
    if (!replaying_held_) {
      act(Refuse{Refusal::conflict, "this supervisor is being restarted: ask the next one"});
    }
    return;
  }
  if (auto const& hook = coordinator_.hook(); hook && (hook->deletion || !hook_has_returned())) {
    if (!replaying_held_) {
      act(Refuse{Refusal::conflict,
                 "the engine's container is being stopped (preStop): another "
                 "engine may serve, this one cannot be resumed"});
    }
    return;
  }
  hook_is_answered_ = false;
  coordinator_.resume(now, health_.started());
  gauges_.forget();
  token_.forget_proof();
  note_phase_change();
  if (coordinator_.phase() == Phase::serving) {
    register_everywhere();
  }
  answer(true);
}

void Lifecycle::on(Instant, RegistrySettled const& settled) {
  LC_ASSERT(settled.registry < registries_.size());
  RegistryRecord& record = registries_[settled.registry];
  using State = RegistryRecord::State;
  if (record.state == State::deregistering) {
    record = {settled.confirmed ? State::confirmed : State::failed, settled.detail};
  } else if (record.state == State::failed && settled.confirmed) {
    record.state = State::confirmed;  // the detail says why it came late
  }
}

void Lifecycle::on(Instant now, CleanupSettled const& settled) {
  cleanup_.settle(now, settled.item, settled.outcome, settled.detail);
}

// --- verbs ---------------------------------------------------------------------------------------

void Lifecycle::stop(Instant now, Cause cause, StopMode mode, Instant cause_at,
                     std::optional<Duration> timeout) {
  if (coordinator_.is_stopping() || coordinator_.phase() == Phase::exited) {
    return;  // the first cause wins
  }
  own_restart_.reset();
  if (awaiting_) {
    awaiting_.reset();
    act(ReplacementEnded{"a stop begins"});
  }
  recovered_ = true;
  final_report_.reset();
  bool const joins = coordinator_.is_draining();
  if (!joins) {
    count_anew();
    if (mode == StopMode::fatal) {  // the engine was dying before anybody knew
      outcomes_[static_cast<std::size_t>(Outcome::error)] = recent_errors_.count(now);
    }
  }
  assume_earlier_registration();
  coordinator_.begin_stop(now, std::move(cause), mode, cause_at, ledger_.in_flight() > 0, timeout);
  auto const& begun = *coordinator_.stop();
  act(StopBegun{name(begun.cause.kind), begun.cause.detail, mode, begun.deadline});
  if (!joins) {
    deregister_everywhere(now);
  }
  if (coordinator_.phase() == Phase::cleaning_up) {
    cancel_all(now, CancelMode::kill,
               mode == StopMode::fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
    note_phase_change();
    begin_cleanup(now, 0);
  } else if (joins) {
    announce();
  } else {
    note_phase_change();
  }
}

void Lifecycle::fatal(Instant now, CauseKind kind, std::string detail) {
  if (coordinator_.phase() == Phase::exited) {
    return;
  }
  if (!coordinator_.is_stopping()) {
    stop(now, {kind, std::move(detail)}, StopMode::fatal, now);
    return;
  }
  if (coordinator_.stop()->mode == StopMode::fatal) {
    return;  // the first cause said it
  }
  // During a graceful stop: cause and mode stay, the drain ends.
  bool const cleaning = coordinator_.phase() == Phase::cleaning_up;
  aborted_with_work_ = aborted_with_work_ || (!cleaning && !is_known_idle());
  if (!cleaning) {
    note_cut_work();
  }
  cancel_all(now, CancelMode::kill, CancelReason::engine_dead);
  coordinator_.abort_drain(now, kFatalTotal);
  if (!cleaning) {
    act(DrainAborted{name(kind), std::move(detail)});
    note_phase_change();
    begin_cleanup(now, 0);
  } else {
    announce();
  }
}

/// A signal from before the cause that we acted on: whoever sent it counts the grace from then.
void Lifecycle::heed_earlier_signal(Instant at) {
  Instant const deadline = coordinator_.budgets_of(at).deadline(at);
  if (coordinator_.phase() != Phase::exited && coordinator_.limit_deadline(deadline)) {
    announce();
  }
}

void Lifecycle::answer(bool changed) {
  if (!replaying_held_) {
    act(Answer{changed});
  }
}

void Lifecycle::signal_ignored(std::string const& name) {
  act(SignalIgnored{name, ignored_signals_ == 0});
  ++ignored_signals_;
}

void Lifecycle::register_everywhere() {
  if (registries_.empty() || is_silent()) {
    return;
  }
  for (RegistryRecord& record : registries_) {
    record = {RegistryRecord::State::registered, {}};
  }
  registered_ = true;
  act(Register{});
}

/// An earlier life may have registered without being able to tell: asking costs nothing.
void Lifecycle::assume_earlier_registration() {
  bool const may_have_run = engine_ != EngineState::waiting || settings_.lifecycle_hooks;
  if (coordinator_.phase() == Phase::starting && may_have_run) {
    registered_ = !registries_.empty();
  }
  assume_withdrawn();
}

/// While the engine is silent not every registry was asked, and not all may have confirmed.
void Lifecycle::assume_withdrawn() {
  registered_ = registered_ || (is_silent() && !registries_.empty());
}

void Lifecycle::deregister_everywhere(Instant now, bool returns) {
  if (!registered_) {
    return;
  }
  registered_ = false;
  for (RegistryRecord& record : registries_) {
    record = {RegistryRecord::State::deregistering, {}};
  }
  Instant const cap = now + coordinator_.budgets().deregister_timeout;
  act(Deregister{*earlier_of(cap, coordinator_.deadline()), returns});
}

}  // namespace lastcall::lifecycle
