// What survives a supervisor: when it is remembered, what the shim does without one, how it is
// restored.
#include <algorithm>
#include <utility>

#include "core/lifecycle.hpp"
#include "core/will.hpp"

namespace lastcall::lifecycle {

void Lifecycle::on(Instant now, StopRecordRead const& record) {
  if (shim_) {
    return;  // the shim's memory is newer
  }
  recovered_ = true;
  record_kept_ = true;
  // One of a stop that has ended was not removed in time: its boot would hold all others off.
  auto const kept = decode_remembered(record.blob);
  if (kept && kept->progress.phase != Phase::exited) {
    restore(now, record.blob, false);
  }
}

Lifecycle::RememberedKey Lifecycle::remembered_key() const {
  auto const progress = coordinator_.progress();
  return {
      .phase = progress.phase,
      .stopping = progress.stop.has_value(),
      .deadline = coordinator_.deadline(),
      .drain_limit = progress.drain_limit,
      .cleanup_step = cleanup_.step(),
      .sdk_peers = peers_until_ ? std::max(expected_peers_, sdk_peers()) : sdk_peers(),
      .died_with_work = died_with_work_,
      .engine_killed = engine_killed_,
      .hook = progress.hook,
      .condemned = awaiting_ && awaiting_->condemned,
      .silence = coordinator_.is_stopping() ? Silence::none : health_.responsiveness().silence()};
}

/// First in its step: what is ordered next must not be lost with us.
void Lifecycle::remember_if_changed() {
  RememberedKey const key = remembered_key();
  bool const exit_is_known =
      remembered_ && remembered_->phase == Phase::exited && key.phase == Phase::exited;
  if (exit_is_known || (remembered_ && key == *remembered_) || !recovered_) {
    return;
  }
  remembered_ = key;
  bool const in_progress =
      coordinator_.is_draining() || coordinator_.is_stopping() || key.condemned;
  bool const over = coordinator_.phase() == Phase::exited || !in_progress;
  if (over && record_kept_) {
    record_kept_ = false;
    actions_.insert(actions_.begin(), ForgetStopRecord{});  // before an exit of this step
  }
  bool const connected = shim_ && shim_->connected;
  if (!connected && over) {
    return;  // nothing of it would be true after a restart
  }
  record_kept_ = record_kept_ || !connected;
  Remembered const remembered{
      .progress = coordinator_.progress(),
      .cleanup_step = cleanup_.step(),
      .sdk_peers = key.sdk_peers,
      .died_with_work = died_with_work_,
      .aborted_with_work = aborted_with_work_,
      .engine_killed = engine_killed_,
      .boot = shim_ ? shim_->boot : restored_boot_,
      .own_container = has_own_container(),
      .ready = health_.started(),
      .silence = key.silence,
      .relayed = ingress_has_relayed_,
      .condemned = key.condemned ? std::optional(awaiting_->why) : std::nullopt,
      .outcomes = outcomes_,
      .in_flight_at_end = in_flight_at_end_};
  actions_.insert(actions_.begin(), Remember{encode(remembered)});
}

/// Before anything else but Remember: who is frozen after its next word has left it.
void Lifecycle::leave_will_if_changed() {
  bool const can_be_left = shim_ && shim_->connected;
  auto will = can_be_left ? will_of({.phase = coordinator_.phase(),
                                     .stop = coordinator_.stop(),
                                     .engine_has_ended = engine_ == EngineState::exited,
                                     .died_with_work = died_with_work_,
                                     .code = exit_code_now()})
                          : std::nullopt;
  if (will && will != will_) {
    actions_.insert(actions_.begin(), *will);
  }
  will_ = std::move(will);
}

void Lifecycle::restore(Instant now, std::string const& blob, bool stop_follows) {
  auto const remembered = decode_remembered(blob);
  if (!remembered) {
    return;
  }
  bool const is_condemned = remembered->condemned && !shim_ && !coordinator_.is_stopping();
  restore_progress(now, *remembered, stop_follows);
  if (auto const& hook = remembered->progress.hook; hook && hook->deletion) {
    deletion_.told_by_hook(hook->called_at);
    if (hook->grace) {
      deletion_.read();
    }
    // A pod is deleted once: ours came later.
    if (deletion_.is_there() && coordinator_.hook_was_called(*hook)) {
      announce();
    }
  }
  if (deletion_.is_there()) {
    coordinator_.hook_explained();
  }
  if (is_condemned) {
    await_replacement(now, {.condemned = true,
                            .until = std::nullopt,
                            .since = now,
                            .verdict = Verdict::dead,
                            .why = *remembered->condemned});
  }
}

void Lifecycle::restore_progress(Instant now, Remembered remembered, bool stop_follows) {
  // A stop is final and the first cause wins: the remembered one outranks a drain and a later stop
  // that this life began before it knew.
  auto const& theirs = remembered.progress.stop;
  auto const& ours = coordinator_.stop();
  bool const outranked =
      theirs ? ours && ours->cause_at <= theirs->cause_at
             : ours || decided_ || remembered.progress.phase <= coordinator_.phase();
  if (outranked) {
    withdraw_earlier_life(now, remembered.progress.phase);
    return;
  }
  auto const own_deadline = coordinator_.deadline();
  bool const past_serving = remembered.progress.phase > Phase::serving;
  if (registered_ && past_serving) {
    deregister_everywhere(now);  // what was registered meanwhile is withdrawn first
  }
  if (coordinator_.phase() > remembered.progress.phase) {
    remembered.progress.phase = coordinator_.phase();
    remembered.progress.phase_began = coordinator_.phase_began();
  }
  Phase const before = coordinator_.phase();
  coordinator_.restore(now, remembered.progress);
  if (own_deadline) {
    coordinator_.limit_deadline(*own_deadline);
  }
  outcomes_ = remembered.outcomes;
  in_flight_at_end_ = remembered.in_flight_at_end;
  died_with_work_ = remembered.died_with_work;
  aborted_with_work_ = remembered.aborted_with_work;
  engine_killed_ = remembered.engine_killed;
  restored_boot_ = remembered.boot;
  restored_own_container_ = remembered.own_container;
  if (remembered.ready) {
    health_.assume_started();
    health_.assume_silent(now, remembered.silence);
    health_.update(now);
    if (!is_silent()) {  // that is told: this life did not see it begin
      told_verdict_ = health_.verdict();
    }
  }
  ingress_has_relayed_ = ingress_has_relayed_ || remembered.relayed;
  expected_peers_ = remembered.sdk_peers;
  if (expected_peers_ > 0 && !peers_are_back()) {
    peers_until_ = now + kRecoveryWindow;
  }
  if (coordinator_.phase() != before) {
    act(PhaseBegun{coordinator_.phase()});
  }
  announce();
  if (coordinator_.phase() == Phase::cleaning_up && before != Phase::cleaning_up) {
    // Peers that were back before their shim told what they could not know yet.
    cancel_all(
        now, CancelMode::kill,
        theirs->mode == StopMode::fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
    begin_cleanup(now, remembered.cleanup_step);
  }
  if (coordinator_.phase() == Phase::serving) {
    if (stop_follows || is_silent()) {
      registered_ = !registries_.empty();  // the keys are there; a dying instance is not offered
    } else {
      register_everywhere();
    }
  } else {
    withdraw_earlier_life(now, remembered.progress.phase);
  }
}

/// Our earlier life registered: the same keys are ours to remove, confirmed or not.
void Lifecycle::withdraw_earlier_life(Instant now, Phase its_phase) {
  bool const leaving =
      coordinator_.phase() > Phase::serving && coordinator_.phase() != Phase::exited;
  bool const asked =
      registered_ || std::any_of(registries_.begin(), registries_.end(), [](auto const& record) {
        return record.state != RegistryRecord::State::absent;
      });
  if (its_phase >= Phase::serving && leaving && !asked) {
    registered_ = !registries_.empty();
    deregister_everywhere(now);
  }
}

/// Until an earlier life is known or ruled out, a command waits: the shim may hold a stop that
/// outranks it.
bool Lifecycle::hold_until_recovered(Event const& event) {
  if (recovered_) {
    return false;
  }
  held_.push_back(event);
  return true;
}

void Lifecycle::apply_held(Instant now) {
  if (!recovered_ || held_.empty()) {
    return;
  }
  replaying_held_ = true;  // whoever asked has been answered
  for (Event const& event : std::exchange(held_, {})) {
    std::visit([&](auto const& fact) { on(now, fact); }, event);
  }
  replaying_held_ = false;
}

}  // namespace lastcall::lifecycle
