#include "core/shutdown_coordinator.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

bool is_legal(Phase from, Phase to) {
  return std::any_of(kLegalMoves.begin(), kLegalMoves.end(),
                     [&](PhaseMove const& move) { return move.from == from && move.to == to; });
}

/// All of it is for the requests: there is no phase 3 to reserve anything for. Late ones come
/// whatever `late_accept` says, as the pod stays. Meanwhile a deletion, if it is one, explains
/// itself.
Budgets restart_budgets(ShutdownSettings settings) {
  settings.cleanup_reserve = Duration{0};
  Budgets budgets = clamp_to_total(settings, kRestartHook);
  budgets.late_accept = kUntilUnready;
  Duration const rest = budgets.total - budgets.settle - budgets.late_accept;
  budgets.deregister_timeout = std::min(budgets.deregister_timeout, rest / 2);
  budgets.shared = budgets.deregister_timeout + budgets.late_accept;
  return budgets;
}

}  // namespace

ShutdownCoordinator::ShutdownCoordinator(Settings const& settings)
    : settings_(settings),
      pod_grace_(settings.pod_grace),
      drain_budgets_(budgets_within(settings.shutdown, settings.pod_grace)),
      restart_budgets_(restart_budgets(settings.shutdown)) {}

// --- what begins and ends a drain or stop --------------------------------------------------------

void ShutdownCoordinator::become_ready(Instant now) {
  enter(now, Phase::serving, PhaseOutcome::completed);
}

void ShutdownCoordinator::begin_drain(Instant now, std::optional<Duration> timeout) {
  LC_ASSERT(phase_ == Phase::starting || phase_ == Phase::serving);
  gate_ = {};
  records_ = {};
  drain_limit_ = timeout ? std::optional(now + *timeout) : std::nullopt;
  enter(now, Phase::deregistering, PhaseOutcome::completed);
}

bool ShutdownCoordinator::limit_drain(Instant now, Duration timeout) {
  Instant const limit = now + timeout;
  bool const rests = phase_ == Phase::drained && !stop_ && (!hook_ || hook_done_);
  if (!is_draining() || rests || gate_.timeout_asked || (drain_limit_ && *drain_limit_ <= limit)) {
    return false;
  }
  auto const before = stop_cancel_point();
  drain_limit_ = limit;
  return stop_cancel_point() != before;  // the deadline of a stop may come first anyway
}

void ShutdownCoordinator::begin_hook(Instant now, bool began_drain) {
  if (!hook_) {
    hook_ = Hook{.called_at = now};
  }
  hook_->began_drain = hook_->began_drain || began_drain;
  hook_done_ = false;
  keep_reserve();
}

void ShutdownCoordinator::drain_is_asked_for() {
  if (hook_) {
    hook_->began_drain = false;
  }
}

void ShutdownCoordinator::hook_explained() {
  if (hook_) {
    hook_->deletion = true;
    keep_reserve();
  }
}

void ShutdownCoordinator::await_replacement(Instant now) {
  LC_ASSERT(!stop_ && phase_ == Phase::drained);
  gate_ = {};
  drain_limit_.reset();
  enter(now, Phase::starting, PhaseOutcome::completed);
}

void ShutdownCoordinator::begin_stop(Instant now, Cause cause, StopMode mode, Instant cause_at,
                                     bool has_work, std::optional<Duration> timeout) {
  LC_ASSERT(!stop_ && phase_ != Phase::cleaning_up && phase_ != Phase::exited);
  bool const nothing_to_drain = phase_ == Phase::starting && !has_work;
  bool const abbreviated = mode == StopMode::fatal || nothing_to_drain;
  stop_budgets_ = with_cleanup(budgets_of(cause_at));
  Instant deadline = stop_budgets_.deadline(cause_at);
  if (abbreviated && now + kFatalTotal < deadline) {
    deadline = now + kFatalTotal;
    stop_budgets_ = with_cleanup(clamp_to_total(settings_.shutdown, kFatalTotal));
  }
  stop_ = Stop{.cause = std::move(cause),
               .mode = mode,
               .cause_at = cause_at,
               .deadline = deadline,
               .in_starting = abbreviated && phase_ == Phase::starting};
  if (timeout) {
    drain_limit_ = earlier_of(drain_limit_, now + *timeout);
  }
  keep_reserve();
  if (abbreviated) {
    skip_to_cleanup(now);
  } else if (phase_ == Phase::starting || phase_ == Phase::serving) {
    gate_ = {};
    records_ = {};
    enter(now, Phase::deregistering, PhaseOutcome::completed);
  }
}

void ShutdownCoordinator::abort_drain(Instant now, Duration within) {
  LC_ASSERT(stop_.has_value());
  if (now + within < stop_->deadline) {
    stop_->deadline = now + within;
    stop_budgets_ = with_cleanup(clamp_to_total(settings_.shutdown, within));
  }
  if (phase_ != Phase::cleaning_up && phase_ != Phase::exited) {
    enter(now, Phase::cleaning_up, PhaseOutcome::failed);
  }
}

bool ShutdownCoordinator::limit_deadline(Instant deadline) {
  LC_ASSERT(stop_.has_value());
  if (deadline >= stop_->deadline) {
    return false;
  }
  stop_->deadline = deadline;
  keep_reserve();
  return true;
}

bool ShutdownCoordinator::limit_grace(Duration grace) {
  if (pod_grace_ && *pod_grace_ <= grace) {
    return false;
  }
  pod_grace_ = grace;
  drain_budgets_ = budgets_within(settings_.shutdown, pod_grace_);
  if (!stop_ || phase_ == Phase::exited) {
    keep_reserve();
    return false;
  }
  Budgets const shorter = budgets_of(stop_->cause_at);
  if (!limit_deadline(shorter.deadline(stop_->cause_at))) {
    return false;
  }
  stop_budgets_ = with_cleanup(shorter);
  keep_reserve();
  return true;
}

void ShutdownCoordinator::expect_acks_or_hooks(bool expected) {
  if (acks_or_hooks_ == expected) {
    return;
  }
  acks_or_hooks_ = expected;
  if (stop_) {
    stop_budgets_ = with_cleanup(clamp_to_total(settings_.shutdown, stop_budgets_.total));
    keep_reserve();
  }
}

Budgets ShutdownCoordinator::with_cleanup(Budgets const& budgets) const {
  return with_room_for_cleanup(budgets, acks_or_hooks_);
}

/// What was given time to end before a bound was known has to keep to that bound too.
void ShutdownCoordinator::keep_reserve() {
  if (gate_.timeout_kill_at) {
    gate_.timeout_kill_at = earlier_of(gate_.timeout_kill_at, kill_cancel_point());
  }
}

void ShutdownCoordinator::resume(Instant now, bool ready) {
  LC_ASSERT(!stop_ && is_draining());
  gate_ = {};
  drain_limit_.reset();
  hook_.reset();
  enter(now, ready ? Phase::serving : Phase::starting, PhaseOutcome::completed);
}

void ShutdownCoordinator::finish(Instant now) {
  LC_ASSERT(stop_.has_value());
  enter(now, Phase::exited,
        now >= stop_->deadline ? PhaseOutcome::timed_out : PhaseOutcome::completed);
}

void ShutdownCoordinator::rearm(Instant now) {
  LC_ASSERT(phase_ == Phase::exited);
  phase_ = Phase::starting;
  phase_began_ = now;
  stop_.reset();
  drain_limit_.reset();
  restored_at_.reset();
  hook_.reset();
  gate_ = {};
  records_ = {};
  ended_.reset();
}

void ShutdownCoordinator::skip_to_cleanup(Instant now) {
  bool const joined = is_draining();
  if (!joined) {
    records_ = {};
  }
  enter(now, Phase::cleaning_up,
        phase_ == Phase::deregistering || phase_ == Phase::draining ? PhaseOutcome::failed
                                                                    : PhaseOutcome::completed);
}

void ShutdownCoordinator::enter(Instant now, Phase phase, PhaseOutcome outcome_of_last) {
  LC_ASSERT(is_legal(phase_, phase));
  Duration const elapsed = now - phase_began_;
  records_[static_cast<std::size_t>(phase_)] = {outcome_of_last, elapsed};
  ended_ = PhaseEnded{.phase = phase_, .outcome = outcome_of_last, .elapsed = elapsed};
  if (auto const d = deadline()) {
    ended_->left = *d - now;
  }
  phase_ = phase;
  phase_began_ = now;
}

std::optional<PhaseEnded> ShutdownCoordinator::take_ended() {
  return std::exchange(ended_, std::nullopt);
}

// --- questions -----------------------------------------------------------------------------------

bool ShutdownCoordinator::is_draining() const {
  return phase_ == Phase::deregistering || phase_ == Phase::draining || phase_ == Phase::drained;
}

bool ShutdownCoordinator::refuses() const {
  return phase_ == Phase::draining || phase_ == Phase::drained || phase_ == Phase::cleaning_up ||
         phase_ == Phase::exited;
}

std::optional<CancelMode> ShutdownCoordinator::cancels_new() const {
  if (phase_ == Phase::cleaning_up || phase_ == Phase::exited || gate_.timeout_killed) {
    return CancelMode::kill;
  }
  return gate_.timeout_asked ? std::optional(CancelMode::stop) : std::nullopt;
}

std::optional<CancelMode> ShutdownCoordinator::cancels_new_ungraceful() const {
  if (auto const mode = cancels_new()) {
    return mode;
  }
  if (gate_.migrate_killed) {
    return CancelMode::kill;
  }
  return gate_.migrate_asked ? std::optional(CancelMode::stop) : std::nullopt;
}

std::optional<Instant> ShutdownCoordinator::deadline() const {
  return stop_ ? std::optional(stop_->deadline) : std::nullopt;
}

Budgets ShutdownCoordinator::budgets() const {
  if (stop_) {
    return stop_budgets_;
  }
  return hook_ && !hook_->deletion && !hook_done_ ? restart_budgets_ : drain_budgets_;
}

Budgets ShutdownCoordinator::budgets_of(Instant cause_at) const {
  Duration const spent = hook_ ? std::max(cause_at - hook_->called_at, Duration{0}) : Duration{0};
  return budgets_within(settings_.shutdown, pod_grace_, spent);
}

std::optional<Instant> ShutdownCoordinator::hook_limit() const {
  if (!hook_) {
    return std::nullopt;
  }
  return hook_->deletion ? drain_budgets_.kill_cancel_at(drain_budgets_.deadline(hook_->called_at))
                         : hook_->called_at + kRestartHook;
}

bool ShutdownCoordinator::hook_is_done() const {
  return hook_done_ || !is_draining();
}

std::optional<Instant> ShutdownCoordinator::deregister_limit() const {
  return phase_ == Phase::deregistering ? std::optional(phase_began_ + budgets().deregister_timeout)
                                        : std::nullopt;
}

}  // namespace lastcall::lifecycle
