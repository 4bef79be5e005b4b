// preStop mode: the engine's container has no shim. Its preStop call holds the stop signal until
// phase 2 has ended, and another engine in its place is told by watching it.
#include <algorithm>
#include <utility>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {

void Lifecycle::on(Instant now, DeletionSeen const& seen) {
  if (seen.grace) {
    deletion_.read();
  } else {
    deletion_.told_by_hook(now);
  }
  note_deletion();
  if (!seen.grace) {
    return;
  }
  if (coordinator_.limit_grace(*seen.grace)) {
    announce();
  }
  if (own_restart_) {  // it was no restart of ours
    Instant const signal_at = own_restart_->signalled_at;
    stop(now, {CauseKind::own_signal, "the pod is being deleted"}, StopMode::graceful, signal_at);
  }
}

/// Whatever the hook was taken for, from here on it is the pod's end.
void Lifecycle::note_deletion() {
  coordinator_.hook_explained();
  if (awaiting_ && !awaiting_->condemned) {
    awaiting_.reset();  // nothing replaces it
    act(ReplacementEnded{"the pod is being deleted"});
  }
}

/// A stop is final, whatever it was begun for.
std::optional<Instant> Lifecycle::deletion_disproved_at() const {
  if (coordinator_.is_stopping()) {
    return std::nullopt;
  }
  Duration const unlimited = settings_.shutdown.grace_period + kPodMargin;
  auto const& hook = coordinator_.hook();
  return deletion_.disproved_by(settings_.pod_grace.value_or(unlimited),
                                hook ? std::optional(hook->called_at) : std::nullopt);
}

/// The calls were a stranger's, or the container's alone. Its engine may have got a stop signal, so
/// that every check has to pass again.
bool Lifecycle::apply_disproof(Instant now) {
  auto const at = deletion_disproved_at();
  if (!at || now < *at) {
    return false;
  }
  deletion_.disprove(now);
  decided_ = true;  // what an earlier life remembers of it is outlived, too
  act(DeletionDisproved{});
  auto const hook = coordinator_.hook();
  if (!hook) {
    return true;
  }
  release_hook(now);
  hook_is_answered_ = false;
  bool const is_undone = coordinator_.is_draining() && hook->began_drain;
  if (is_undone) {
    coordinator_.resume(now, false);
    gauges_.forget();
    token_.forget_proof();
    note_phase_change();
  } else {
    coordinator_.forget_hook();  // where it drains, an operator asked for that, too
  }
  if (!awaiting_) {
    health_.reset();
  }
  return true;
}

void Lifecycle::on(Instant now, EngineStopHook const&) {
  hook_waits_since_ = hook_waits_since_.value_or(now);
  Phase const phase = coordinator_.phase();
  if (phase == Phase::cleaning_up || phase == Phase::exited || hook_has_returned()) {
    return;  // phase 2 is over
  }
  // Too young to say that nothing runs: an earlier life may have let requests in.
  bool const may_have_work = !recovered_ || ledger_.in_flight() > 0;
  bool const is_loading = phase == Phase::starting && (awaiting_ || !may_have_work);
  recovered_ = true;
  decided_ = true;
  bool const begins_drain =
      !is_loading && !coordinator_.is_stopping() && !coordinator_.is_draining();
  if (begins_drain) {
    count_anew();
    assume_earlier_registration();
    coordinator_.begin_drain(now, std::nullopt);
    deregister_everywhere(now);
    note_phase_change();
  }
  coordinator_.begin_hook(now, begins_drain);
  if (deletion_.is_there()) {
    coordinator_.hook_explained();
  }
}

void Lifecycle::on(Instant, EngineReplaced const& replaced) {
  if (awaiting_) {
    end_awaiting(replaced.how);
  }
}

/// Calls return when phases 1 and 2 are behind us; what comes then, the pod's deletion decides.
bool Lifecycle::apply_hook(Instant now) {
  bool const is_given_up = awaiting_ && awaiting_->condemned;
  if (!coordinator_.hook_is_done() && !is_given_up) {
    return false;
  }
  bool const has_released = release_hook(now);
  coordinator_.end_hook();
  hook_is_answered_ = coordinator_.hook().has_value();
  bool const is_restart =
      coordinator_.hook() && !coordinator_.hook()->deletion && !coordinator_.is_stopping();
  if (is_restart && shim_) {
    coordinator_.forget_hook();  // the shim tells what comes now
    hook_is_answered_ = false;
  }
  if (!is_restart || shim_ || awaiting_) {
    return has_released;
  }
  await_replacement(now, {.until = now + kReplacedAnyway, .since = now});
  return true;
}

bool Lifecycle::release_hook(Instant now) {
  if (!hook_waits_since_) {
    return false;
  }
  auto const& stop = coordinator_.stop();
  std::string_view why = "drained";
  if ((stop && stop->mode == StopMode::fatal) || (awaiting_ && awaiting_->condemned)) {
    why = "the engine is given up";
  } else if (coordinator_.phase() == Phase::starting || coordinator_.phase() == Phase::exited) {
    why = "nothing to drain";
  } else if (!coordinator_.hook_is_done()) {
    why = "the supervisor ends";
  } else if (coordinator_.record(Phase::draining).outcome != PhaseOutcome::completed) {
    why = "time is up";
  }
  act(ReleaseHook{why, now - *std::exchange(hook_waits_since_, std::nullopt)});
  return true;
}

void Lifecycle::await_replacement(Instant now, Awaiting awaiting) {
  if (coordinator_.phase() == Phase::drained) {
    coordinator_.await_replacement(now);
    note_phase_change();
  }
  health_.reset();
  gauges_ = GaugeEvidence{settings_.gauge_refresh, settings_.load_counts};
  token_.forget_proof();
  bool const condemned = awaiting.condemned;
  awaiting_ = std::move(awaiting);
  act(AwaitReplacement{condemned});
}

/// From here on every check has to pass again; in a pod that goes, none of that makes it serve.
void Lifecycle::end_awaiting(std::string how) {
  awaiting_.reset();
  if (auto const& hook = coordinator_.hook(); hook && !hook->deletion) {
    coordinator_.forget_hook();
    hook_is_answered_ = false;
  }
  health_.reset();
  act(ReplacementEnded{std::move(how)});
}

/// Its stop signal is on the way, or nobody but its container's liveness probe can end it: what is
/// heard of it now is no news.
bool Lifecycle::engine_is_leaving() const {
  return awaiting_.has_value() || hook_has_returned();
}

}  // namespace lastcall::lifecycle
