// What must hold of preStop calls: each is released once and by its bound, they never end the
// process, and an engine that is to go serves no more.
#include <algorithm>

#include "tests/simulation/invariants.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

/// Where a call returns at the latest, by what is known of the pod's deletion.
Instant Checker::hook_bound() const {
  auto const budgets = budgets_within(settings_.shutdown, pod_grace_);
  return deletion_seen_ ? budgets.kill_cancel_at(budgets.deadline(*hook_called_))
                        : *hook_called_ + Duration{5'000};
}

void Checker::hear_of_deletion(Instant called_at) {
  if (deletion_disproved_ && called_at < *deletion_disproved_) {
    return;
  }
  deletion_seen_ = true;
  deletion_told_ = earlier_of(deletion_told_, called_at);
}

/// A pod that runs then was not deleted, unless more than a hook reports it.
std::optional<Instant> Checker::deletion_disproved_at(StepView const& step) const {
  if (!deletion_told_ || deletion_is_certain_ || step.after.stop) {
    return std::nullopt;
  }
  auto const grace = settings_.pod_grace.value_or(settings_.shutdown.grace_period + kPodMargin);
  Instant const last = std::max(*deletion_told_, hook_called_.value_or(*deletion_told_));
  return last + grace + Duration{2'000};
}

void Checker::note_hook(StepView const& step) {
  if (auto const* own = std::get_if<OwnSignal>(&step.event)) {
    own_signal_ = exit_asked_ = true;
    own_signal_at_ = own_signal_at_.value_or(step.now);
    deletion_seen_ = deletion_seen_ || !run_mode_;
    deletion_is_certain_ = deletion_is_certain_ || !run_mode_;
  }
  if (auto const* drain = std::get_if<DrainRequested>(&step.event)) {
    exit_asked_ = exit_asked_ || drain->exit;  // it may have waited for an earlier life
  }
  if (auto const* hello = std::get_if<ShimHello>(&step.event)) {
    run_mode_ = hello->run;
  }
  if (auto const* seen = std::get_if<DeletionSeen>(&step.event)) {
    hear_of_deletion(step.now);
    if (seen->grace) {
      deletion_is_certain_ = true;
      pod_grace_ = std::min(pod_grace_.value_or(*seen->grace), *seen->grace);
    }
  }
  if (std::holds_alternative<EngineStopHook>(step.event)) {
    hook_waits_ = commanded_ = true;
    bool const over = before_ == Phase::cleaning_up || before_ == Phase::exited;
    hook_called_ = over ? hook_called_ : hook_called_.value_or(step.now);
  }
  if (!hook_called_) {
    return;
  }
  Duration const settle = std::min(settings_.shutdown.cancel_settle,
                                   deletion_seen_ ? Duration{60'000} : kRestartHook / 8);
  auto const budgets = budgets_within(settings_.shutdown, pod_grace_);
  Duration const lead = deletion_seen_ ? budgets.settle : settle;
  hook_pressed_ = hook_pressed_ || step.now >= hook_bound() - lead;
}

std::string Checker::check_hook_action(StepView const& step, Action const& action) {
  if (std::holds_alternative<ReleaseHook>(action)) {
    if (!hook_waits_) {
      return "a preStop call is released that nobody waits for";
    }
    hook_waits_ = false;
    bool const first = !std::exchange(hook_answered_, true);
    // An earlier life may have ended that phase before its peers were back.
    bool const leaves = std::holds_alternative<ExitSupervisor>(step.actions.back());
    bool const held =
        phase_ == Phase::drained && first && !condemned_ && !hook_restored_ && !leaves;
    return held ? check_nothing_runs(step) : "";
  }
  if (auto const* await = std::get_if<AwaitReplacement>(&action)) {
    if (awaiting_since_) {
      return "a replacement is waited for twice";
    }
    if (shim_known_ || (!await->condemned && deletion_seen_)) {
      return "a replacement is waited for that cannot come, or that a shim would report";
    }
    awaiting_since_ = step.now;
    condemned_ = await->condemned;
  } else if (std::holds_alternative<ReplacementEnded>(action)) {
    if (!awaiting_since_) {
      return "a replacement ends that nobody waited for";
    }
    // What a shim's memory holds about a call is read after this.
    bool const told_again = std::holds_alternative<ShimHello>(step.event) && hook_read_;
    bool const forgets = !deletion_seen_ && !own_signal_ && !told_again &&
                         !std::holds_alternative<DrainRequested>(step.event);
    if (forgets) {
      hook_called_.reset();
      hook_answered_ = hook_pressed_ = false;
    }
    awaiting_since_.reset();
    condemned_ = false;
  } else if (std::holds_alternative<DeletionDisproved>(action)) {
    auto const at = deletion_disproved_at(step);
    if (!at || step.now < *at) {
      return "a pod's deletion is disproved before it was outlived";
    }
    deletion_seen_ = hook_answered_ = hook_pressed_ = false;
    deletion_told_.reset();
    deletion_disproved_ = step.now;
    commanded_ = true;  // an earlier life's drain is outlived, too
    hook_called_.reset();
    restored_phase_.reset();  // undone with the word
  } else if (auto const* begun = std::get_if<PhaseBegun>(&action)) {
    bool const serves = begun->phase == Phase::serving;
    if (serves && (awaiting_since_ || hook_called_)) {
      return "an engine that is to go serves";
    }
    hook_pressed_ = hook_pressed_ && begun->phase != Phase::deregistering;
  } else if (std::holds_alternative<Rearm>(action)) {
    hook_called_.reset();
    hook_answered_ = hook_pressed_ = commanded_ = false;
  } else if (std::holds_alternative<StopBegun>(action)) {
    stop_seen_ = true;
  } else if (std::holds_alternative<ExitSupervisor>(action)) {
    return stop_ || stop_seen_ || own_signal_ ? "" : "the process ends and nobody has stopped it";
  }
  return {};
}

/// What the call waited for has ended, or was killed.
std::string Checker::check_nothing_runs(StepView const& step) const {
  bool all_killed = true;
  step.core.requests().for_each(
      [&](RequestView const& view) { all_killed &= view.state == RequestState::killed; },
      step.core.endpoints());
  return all_killed ? "" : "a preStop call is released while a request runs that was not killed";
}

std::string Checker::check_hook(StepView const& step) {
  bool const caused_here = std::holds_alternative<EngineStopHook>(step.event) ||
                           std::holds_alternative<EngineReplaced>(step.event) ||
                           std::holds_alternative<DeletionSeen>(step.event);
  for (Action const& action : step.actions) {
    auto const* begun = std::get_if<StopBegun>(&action);
    if (begun != nullptr && caused_here && begun->mode == StopMode::graceful && !exit_asked_) {
      return "a preStop call begins a stop";
    }
    auto const* answer = std::get_if<Answer>(&action);
    if (answer != nullptr && answer->changed && hook_called_ && deletion_seen_ &&
        std::holds_alternative<ResumeRequested>(step.event)) {
      return "a drain is resumed though the pod is being deleted";
    }
    if (answer != nullptr && answer->changed &&
        std::holds_alternative<ResumeRequested>(step.event)) {
      hook_called_.reset();  // undone with its drain
      hook_answered_ = hook_pressed_ = false;
    }
  }
  bool const drains = phase_ == Phase::deregistering || phase_ == Phase::draining;
  // Late work may still be bounded by a call of an earlier life.
  bool const bounds = drains || step.after.hook;
  if (!hook_waits_ && !bounds && shim_known_ && !deletion_seen_ && !step.after.stop) {
    hook_called_.reset();  // the shim reports what comes now
    hook_answered_ = hook_pressed_ = false;
  }
  if (hook_waits_ && !ended_) {
    bool const over = phase_ >= Phase::cleaning_up || phase_ < Phase::deregistering;
    if (over || (hook_called_ && step.now >= hook_bound())) {
      return "a preStop call still waits at " + text_of(step.now);
    }
  }
  if (hook_waits_ && ended_) {
    return "the process ends and a preStop call was not released";
  }
  if (auto const at = deletion_disproved_at(step); at && step.now >= *at && !ended_) {
    return "a preStop call is believed though the pod has outlived it";
  }
  bool const too_long =
      awaiting_since_ && !condemned_ && step.now >= *awaiting_since_ + Duration{30'000};
  return too_long ? "a replacement is waited for beyond its time" : "";
}

}  // namespace lastcall::simulation
