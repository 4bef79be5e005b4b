// Who may run: limits, queue and load, and what they mean for the requests in flight.
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {

void Lifecycle::on(Instant, AdmissionLimitsChanged const& changed) {
  admission_.set_limits(changed.limits);
}

void Lifecycle::on(Instant, LoadThresholdsChanged const& changed) {
  loads_.set_thresholds(changed.thresholds);
}

void Lifecycle::on(Instant now, LoadReported const& report) {
  if (!loads_.report(now, report)) {
    act(Refuse{Refusal::bad_field,
               "dp_rank: expected at most " + std::to_string(kMostRanks) + " ranks"});
  }
}

/// An engine that runs nothing may leave its gauges where they stood (vLLM sets them after a step
/// of its scheduler): busy by them alone, it still gets one request at a time, which moves them.
bool Lifecycle::load_refuses(Instant now) const {
  return loads_.is_busy_by_ranks(now) || (admission_.running() > 0 && loads_.is_busy(now));
}

/// Why a request that asks may not begin; absent: it may, at once or after a wait.
std::optional<RejectedReason> Lifecycle::refusal_of(Instant now,
                                                    RequestBegun const& request) const {
  if (ledger_.owns(request.peer, request.id) || ledger_.is_part(request)) {
    return std::nullopt;  // an error, or part of what was admitted and is to end, in a drain too
  }
  bool const leaves = request.peer == kIngressPeer && own_restart_ && own_restart_->refuses();
  if (coordinator_.refuses() || leaves) {
    return RejectedReason::draining;
  }
  bool const may =
      !is_silent() && !load_refuses(now) && admission_.judge() != Admission::Answer::refused;
  return may ? std::nullopt : std::optional(RejectedReason::overloaded);
}

/// It never was in flight.
void Lifecycle::refuse_new(Instant now, RequestBegun const& request, RejectedReason why) {
  ++outcomes_[static_cast<std::size_t>(Outcome::rejected)];
  Reject const reject = rejection(now, request.peer, request.id, why);
  bool const is_full = why == RejectedReason::overloaded && !reject.excess && !reject.silent;
  act(reject);
  act(RequestSettled{.endpoint = request.endpoint,
                     .model = request.model,
                     .outcome = Outcome::rejected,
                     .rejected = why,
                     .begun = false,
                     .from_tier = !request.parent.empty(),
                     .full = is_full});
}

Reject Lifecycle::rejection(Instant now, PeerId peer, std::string_view id, RejectedReason why) {
  Reject reject{.peer = peer, .id = std::string(id), .reason = why};
  if (why == RejectedReason::draining) {
    reject.retry_after = admission_.take_slot_elsewhere();
    return reject;
  }
  reject.retry_after = admission_.take_retry_slot(now);
  reject.silent = is_silent() && why == RejectedReason::overloaded;
  if (load_refuses(now) && why != RejectedReason::queue_timeout) {
    reject.excess = loads_.excess(now);
  } else if (!reject.silent) {
    reject.limit = admission_.capacity();
    reject.count = admission_.running() + admission_.waiting();
  }
  return reject;
}

/// The newest request takes its place, or waits for one. Says whether it may run.
bool Lifecycle::admit_newest(Instant now, RequestBegun const& request, bool asks, bool is_part) {
  RequestLedger::Index const index = ledger_.newest();
  if (is_part) {
    return true;  // its root has the place
  }
  if (!asks) {
    ledger_.hold(index, admission_.take(now, index, !request.resumed), Standing::running);
    return true;
  }
  if (ledger_.at(index).state != RequestState::live) {
    ledger_.hold(index, kNoTicket, Standing::withdrawn);  // by its parent: the cancel is its answer
    return false;
  }
  Admission::Ticket const ticket = admission_.arrive(now, index, request.priority);
  bool const waits = admission_.is_waiting(ticket);
  ledger_.hold(index, ticket, waits ? Standing::waiting : Standing::running);
  return !waits;
}

/// Grants what is free. The last of a step: who left or was cancelled in it is not granted.
void Lifecycle::grant_waiters(Instant now) {
  while (auto const granted = admission_.grant(now)) {
    ledger_.admitted(granted->owner);
    RequestView const request = ledger_.at(granted->owner);
    act(Admit{request.peer, request.id, granted->waited});
  }
}

void Lifecycle::refuse_waiter(Instant now, RequestLedger::Index index, RejectedReason why) {
  RequestView const request = ledger_.at(index);
  act(rejection(now, request.peer, request.id, why));
  ledger_.refuse(now, index, why);
}

void Lifecycle::refuse_waiters(Instant now) {
  while (auto const index = admission_.refuse_next(now)) {
    refuse_waiter(now, *index, RejectedReason::draining);
  }
}

/// Time alone decides these: a wait that was too long, load reports that are too old.
void Lifecycle::apply_admission_time(Instant now) {
  drain_ledger(now);  // who left in this step has no time that could be up
  while (auto const index = admission_.expired(now)) {
    refuse_waiter(now, *index, RejectedReason::queue_timeout);
  }
  if (bool const busy = loads_.is_busy(now); busy != told_busy_) {
    told_busy_ = busy;
    act(BusyChanged{busy, loads_.excess(now)});
  }
}

/// An end of the engine's work: whoever waits for it will not get it.
void Lifecycle::cancel_all(Instant now, CancelMode mode, CancelReason reason) {
  refuse_waiters(now);
  ledger_.cancel_all(now, mode, reason);
}

std::optional<Instant> Lifecycle::admission_deadline() const {
  return earlier_of(admission_.next_deadline(), told_busy_ ? loads_.busy_until() : std::nullopt);
}

AdmissionState Lifecycle::admission_state() const {
  return {.limits = admission_.limits(),
          .thresholds = loads_.thresholds(),
          .running = admission_.running(),
          .waiting = admission_.waiting(),
          .without_first_byte = admission_.without_first_byte(),
          .busy = told_busy_};
}

}  // namespace lastcall::lifecycle
