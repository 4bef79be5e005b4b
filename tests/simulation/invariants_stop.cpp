// What must hold of a stop: its deadline, its gate, its reserve, and what survives a restart.
#include <algorithm>

#include "tests/simulation/invariants.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

template <typename T>
T const* find(std::span<Action const> actions) {
  for (Action const& action : actions) {
    if (auto const* found = std::get_if<T>(&action)) {
      return found;
    }
  }
  return nullptr;
}

bool is_part_of_a_drain(Phase phase) {
  return phase == Phase::deregistering || phase == Phase::draining || phase == Phase::drained;
}

}  // namespace

/// How long requests may take, where an operator set it.
void Checker::note_limit(StepView const& step) {
  commanded_ = commanded_ || std::holds_alternative<DrainRequested>(step.event) ||
               std::holds_alternative<ResumeRequested>(step.event);
  auto const* answer = find<Answer>(step.actions);
  bool const changed = answer != nullptr && answer->changed;
  if (auto const* drain = std::get_if<DrainRequested>(&step.event); drain != nullptr && changed) {
    auto const limit = drain->timeout ? std::optional(step.now + *drain->timeout) : std::nullopt;
    drain_limit_ = drain->exit ? earlier_of(drain_limit_, limit) : limit;
  } else if (std::holds_alternative<ResumeRequested>(step.event) && changed) {
    drain_limit_.reset();
  }
  if (step.remembered) {
    // A command that waited for the shim's hello counts from then.
    drain_limit_ = step.remembered->progress.drain_limit;
    if (step.remembered->progress.hook && hook_told_ && !hook_called_) {
      hook_called_ = hook_told_;  // it was not outranked
      if (step.remembered->progress.hook->deletion) {
        hear_of_deletion(*hook_called_);
      }
    }
  }
  if (phase_ == Phase::drained && before_ != Phase::drained) {
    drain_limit_.reset();  // it was for that drain
    busy_after_drained_ = false;
  }
}

/// What preStop has used of the pod's grace is gone.
Budgets Checker::budgets_of(Instant cause_at) const {
  Duration const spent =
      hook_called_ ? std::max(cause_at - *hook_called_, Duration{0}) : Duration{0};
  return budgets_within(settings_.shutdown, pod_grace_, spent);
}

std::string Checker::check_stop_begins(StepView const& step) {
  auto const* begun = find<StopBegun>(step.actions);
  auto const& core_stop = step.after.stop;
  if (begun == nullptr || rearmed_) {
    return {};  // a stop that has ended in the step that began it
  }
  if (stop_) {
    return "a second stop begins";
  }
  Stop stop;
  stop.mode = begun->mode;
  stop.cause = *parse_word<CauseKind>(begun->cause);
  // Where the last request ended in this very step, or the first began, either may have come first.
  bool const had_work = in_flight_before_ > 0;
  bool const is_clear = had_work == (requests_.in_flight() > 0) || !core_stop;
  bool const drains = is_clear ? had_work : !core_stop->in_starting;
  stop.in_starting =
      phase_at_stop_ == Phase::starting && (begun->mode == StopMode::fatal || !drains);
  stop.known_at = stop.cause_at = step.now;
  if (auto const* signal = std::get_if<StopSignalHeld>(&step.event)) {
    stop.cause_at = signal->at;
  } else if (auto const* hello = std::get_if<ShimHello>(&step.event);
             hello != nullptr && hello->stop_at && stop.cause == CauseKind::signal) {
    stop.cause_at = *hello->stop_at;
  } else if (std::holds_alternative<DeletionSeen>(step.event) && own_signal_at_ && core_stop) {
    stop.cause_at = core_stop->cause_at;  // our own signal, or when it had waited for the shim
    if (stop.cause_at < *own_signal_at_ || stop.cause_at > step.now) {
      return "a stop begins that our own signal is not the cause of";
    }
  }
  if (hook_told_ && begun->deadline != budgets_of(stop.cause_at).deadline(stop.cause_at)) {
    hook_called_ = hook_told_;
  }
  stop.budgets = budgets_of(stop.cause_at);
  stop.deadline = stop.budgets.deadline(stop.cause_at);
  bool const fatal = stop.mode == StopMode::fatal;
  if ((fatal || stop.in_starting) && step.now + kFatalTotal < stop.deadline) {
    stop.deadline = step.now + kFatalTotal;
    stop.budgets = clamp_to_total(settings_.shutdown, kFatalTotal);
  }
  if (begun->deadline != stop.deadline || (core_stop && core_stop->deadline > stop.deadline)) {
    return "the deadline is " + text_of(begun->deadline) + ", by the rules " +
           text_of(stop.deadline);
  }
  bool const graceful_cause = stop.cause == CauseKind::signal ||
                              stop.cause == CauseKind::own_signal ||
                              stop.cause == CauseKind::operator_stop;
  if (graceful_cause == fatal) {
    return "the cause does not fit the mode";
  }
  stop_ = stop;
  return {};
}

/// What the earlier life of the supervisor left is what this one has to go on with.
void Checker::note_blob(StepView const& step, std::string const& blob) {
  auto const decoded = decode_remembered(blob);
  auto const own = stop_;
  relayed_before_ = relayed_before_ || (decoded && decoded->relayed);
  if (decoded && decoded->progress.hook && decoded->progress.hook->deletion) {
    hear_of_deletion(decoded->progress.hook->called_at);  // a pod is deleted once
    if (auto const& grace = decoded->progress.hook->grace) {
      deletion_is_certain_ = true;
      pod_grace_ = std::min(pod_grace_.value_or(*grace), *grace);
    }
    if (hook_called_) {
      hook_called_ = std::min(*hook_called_, decoded->progress.hook->called_at);
    }
  }
  if (own && decoded && decoded->progress.stop &&
      decoded->progress.stop->cause_at < own->cause_at) {
    stop_.reset();  // the first cause wins
  }
  if (!decoded || stop_ || decoded->progress.phase <= before_) {
    restored_phase_.reset();
    if (decoded && !stop_ && decoded->progress.phase == Phase::draining && draining_since_) {
      draining_since_ = std::min(*draining_since_, decoded->progress.phase_began);
    }
  } else {
    restored_phase_ = decoded->progress.phase;
    // A command that came first may have outranked it, or waited for it: the stop will show.
    if (auto const& hook = decoded->progress.hook; hook && commanded_ && !hook_called_) {
      hook_told_ = hook->called_at;
    } else if (hook && hook_called_ && !hook->deletion) {
      hook_read_ = true;  // of another restart of the engine's container
    } else if (hook) {
      hook_called_ = hook->called_at;
      hook_restored_ = hook_read_ = true;
    }
    drain_limit_ = decoded->progress.drain_limit;
    requests_.begin_counting(decoded->outcomes[static_cast<std::size_t>(Outcome::lost)]);
    draining_since_ = decoded->progress.phase_began;
  }
  if (!decoded || !decoded->progress.stop || stop_ || decoded->progress.phase == Phase::exited) {
    return;
  }
  auto const& kept = *decoded->progress.stop;
  restored_stop_ = true;
  stop_ = Stop{.mode = kept.mode,
               .cause = kept.cause.kind,
               .cause_at = kept.cause_at,
               .deadline = kept.deadline,
               .known_at = step.now,
               .in_starting = kept.in_starting,
               .aborted = false,
               .budgets = clamp_to_total(settings_.shutdown, kept.deadline - kept.cause_at)};
  if (own) {
    stop_->deadline = std::min(stop_->deadline, own->deadline);
  }
}

/// A signal that was held before the cause that was acted on: D is counted from it.
void Checker::note_earlier_signal(StepView const& step) {
  auto const* hello = std::get_if<ShimHello>(&step.event);
  auto const* signal = std::get_if<StopSignalHeld>(&step.event);
  auto const at = hello != nullptr    ? hello->stop_at
                  : signal != nullptr ? std::optional(signal->at)
                                      : std::nullopt;
  if (stop_ && at && before_ != Phase::exited) {
    auto const budgets = budgets_of(*at);
    if (budgets.deadline(*at) < stop_->deadline) {
      stop_->deadline = budgets.deadline(*at);
      stop_->known_at = step.now;  // a reserve that had begun by then was nobody's to keep
    }
  }
}

/// The pod's own word on its grace: D is counted again from the cause.
void Checker::note_grace(StepView const& step) {
  auto const* seen = std::get_if<DeletionSeen>(&step.event);
  if (seen == nullptr || !seen->grace || !stop_ || before_ == Phase::exited) {
    return;
  }
  auto const budgets = budgets_of(stop_->cause_at);
  if (budgets.deadline(stop_->cause_at) < stop_->deadline) {
    stop_->deadline = budgets.deadline(stop_->cause_at);
    stop_->budgets = budgets;
    stop_->known_at = step.now;
  }
}

std::string Checker::check_restored(StepView const& step) {
  auto const& core_stop = step.after.stop;
  if (restored_phase_ && !rearmed_ && !commanded_ && !awaiting_since_ &&
      phase_ < *restored_phase_) {
    return "the restarted supervisor is in an earlier phase than it was";
  }
  if (!restored_stop_ || rearmed_) {
    return {};
  }
  if (!core_stop || core_stop->cause.kind != stop_->cause ||
      core_stop->cause_at != stop_->cause_at || core_stop->mode != stop_->mode ||
      core_stop->in_starting != stop_->in_starting) {
    return "the stop of the earlier life is not the one that goes on";
  }
  return {};
}

std::string Checker::check_stop(StepView const& step) {
  std::string wrong = check_stop_begins(step);
  note_limit(step);
  if (wrong.empty()) {
    wrong = check_restored(step);
  }
  note_earlier_signal(step);
  note_grace(step);
  auto const& core_stop = step.after.stop;
  if (!wrong.empty() || !stop_ || !core_stop) {
    return !wrong.empty() || !core_stop || stop_ ? wrong : "a stop is under way that never began";
  }
  if (core_stop->deadline > stop_->deadline) {
    return "the deadline moved away";
  }
  if (core_stop->deadline < stop_->deadline) {
    stop_->aborted = true;
    stop_->deadline = core_stop->deadline;
    stop_->budgets = clamp_to_total(settings_.shutdown, stop_->deadline - step.now);
  }
  if (auto const* aborted = find<DrainAborted>(step.actions)) {
    stop_->aborted = true;
    // A shim that was given up may come back with its engine: no code is wrong then.
    shim_given_up_ = shim_given_up_ || aborted->cause == name(CauseKind::shim_lost);
  }
  if (step.now >= stop_->deadline && phase_ != Phase::exited && phase_ != Phase::starting) {
    return "the deadline has passed and the stop has not ended";
  }
  return check_gate(step);
}

/// Phase 3 begins in time, and not before phase 2 was done.
std::string Checker::check_gate(StepView const& step) {
  bool const restored = restored_phase_ && *restored_phase_ >= Phase::cleaning_up;
  bool const enters = is_part_of_a_drain(before_) && phase_ >= Phase::cleaning_up && !restored;
  if (!enters || stop_->mode == StopMode::fatal || stop_->aborted || stop_->in_starting) {
    return {};
  }
  Budgets const kept = with_room_for_cleanup(stop_->budgets, settings_.cleanup_hooks);
  Instant const latest = std::max(kept.kill_cancel_at(stop_->deadline), stop_->known_at);
  if (step.now > latest) {
    return "phase 3 begins at " + text_of(step.now) + ", its reserve began at " + text_of(latest);
  }
  Instant const cancel_at = *earlier_of(
      with_room_for_cleanup(stop_->budgets, true).stop_cancel_at(stop_->deadline), drain_limit_);
  if (step.now < cancel_at && !hook_pressed_) {
    if (requests_.graceful_in_flight() > 0) {
      return "phase 2 ends while requests of graceful endpoints are in flight";
    }
    bool const waited =
        draining_since_ &&
        step.now >= std::max(*draining_since_, gauges_busy_at_.value_or(*draining_since_)) +
                        settings_.shutdown.drain_unknown;
    if (!ingress_counts() && !requests_.known() && !requests_.source_died() && !gauges_idle_ &&
        !waited && (before_ != Phase::drained || busy_after_drained_)) {
      return "phase 2 ends though it is unknown what is in flight";
    }
  }
  bool all_killed = true;
  step.core.requests().for_each(
      [&](RequestView const& view) { all_killed &= view.state == RequestState::killed; },
      step.core.endpoints());
  return all_killed ? "" : "phase 3 begins while a request runs that was not killed";
}

}  // namespace lastcall::simulation
