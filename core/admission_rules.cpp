#include "core/admission_rules.hpp"

#include <string>

#include "core/event_rules.hpp"
#include "core/questions.hpp"
#include "core/request_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

/// An engine that runs nothing may leave its gauges where they stood (vLLM sets them after a step
/// of its scheduler). If only the gauges show it as busy, it still gets one request at a time,
/// which makes it set them again.
bool load_refuses(Machines const& m, Instant now) {
  return m.loads.is_busy_by_ranks(now) || (m.admission.running() > 0 && m.loads.is_busy(now));
}

Reject rejection(Machines& m, Instant now, PeerId peer, std::string_view id, RejectedReason why) {
  Reject reject{.peer = peer, .id = std::string(id), .reason = why};
  if (why == RejectedReason::draining) {
    reject.retry_after = m.admission.take_slot_elsewhere();
    return reject;
  }
  reject.retry_after = m.admission.take_retry_slot(now);
  reject.silent = is_silent(m) && why == RejectedReason::overloaded;
  if (load_refuses(m, now) && why != RejectedReason::queue_timeout) {
    reject.excess = m.loads.excess(now);
  } else if (!reject.silent) {
    reject.limit = m.admission.capacity();
    reject.count = m.admission.running() + m.admission.waiting();
  }
  return reject;
}

void refuse_waiter(Machines& m, Instant now, RequestLedger::Index index, RejectedReason why) {
  RequestView const request = m.ledger.at(index);
  m.orders.act(rejection(m, now, request.peer, request.id, why));
  m.ledger.refuse(now, index, why);
}

}  // namespace

void on(Machines& m, Instant /*now*/, AdmissionLimitsChanged const& changed) {
  m.admission.set_limits(changed.limits);
}

void on(Machines& m, Instant /*now*/, LoadThresholdsChanged const& changed) {
  m.loads.set_thresholds(changed.thresholds);
}

void on(Machines& m, Instant now, LoadReported const& report) {
  if (!m.loads.report(now, report)) {
    m.orders.act(Refuse{Refusal::bad_field,
                        "dp_rank: expected at most " + std::to_string(kMostRanks) + " ranks"});
  }
}

std::optional<RejectedReason> refusal_of(Machines const& m, Instant now,
                                         RequestBegun const& request) {
  if (m.ledger.owns(request.peer, request.id) || m.ledger.is_part(request)) {
    // An error, or part of an admitted request that is to end, even in a drain.
    return std::nullopt;
  }
  bool const leaves = request.peer == kIngressPeer && m.own.refuses();
  if (refuses(m.coordinator.phase()) || leaves) {
    return RejectedReason::draining;
  }
  bool const may =
      !is_silent(m) && !load_refuses(m, now) && m.admission.judge() != Admission::Answer::refused;
  return may ? std::nullopt : std::optional(RejectedReason::overloaded);
}

void refuse_new(Machines& m, Instant now, RequestBegun const& request, RejectedReason why) {
  m.tally.rejected();
  Reject const reject = rejection(m, now, request.peer, request.id, why);
  bool const is_full = why == RejectedReason::overloaded && !reject.excess && !reject.silent;
  m.orders.act(reject);
  m.orders.act(RequestSettled{.endpoint = request.endpoint,
                              .model = request.model,
                              .outcome = Outcome::rejected,
                              .rejected = why,
                              .begun = false,
                              .from_tier = !request.parent.empty(),
                              .full = is_full});
}

bool admit_newest(Machines& m, Instant now, RequestBegun const& request, bool asks, bool is_part) {
  RequestLedger::Index const index = m.ledger.newest();
  if (is_part) {
    return true;  // its root has the place
  }
  if (!asks) {
    m.ledger.hold(index, m.admission.take(now, index, !request.resumed), Standing::running);
    return true;
  }
  if (m.ledger.at(index).state != RequestState::live) {
    m.ledger.hold(index, kNoTicket,
                  Standing::withdrawn);  // by its parent; the cancel is its answer
    return false;
  }
  Admission::Ticket const ticket = m.admission.arrive(now, index, request.priority);
  bool const waits = m.admission.is_waiting(ticket);
  m.ledger.hold(index, ticket, waits ? Standing::waiting : Standing::running);
  return !waits;
}

void refuse_waiters(Machines& m, Instant now) {
  while (auto const index = m.admission.refuse_next(now)) {
    refuse_waiter(m, now, *index, RejectedReason::draining);
  }
}

// --- joint rules ---------------------------------------------------------------------------------

void grant_waiters(Machines& m, Instant now) {
  while (auto const granted = m.admission.grant(now)) {
    m.ledger.admitted(granted->owner);
    RequestView const request = m.ledger.at(granted->owner);
    m.orders.act(Admit{request.peer, request.id, granted->waited});
  }
}

void apply_admission_time(Machines& m, Instant now) {
  drain_ledger(m, now);  // a request that left in this step has no wait that could expire
  while (auto const index = m.admission.expired(now)) {
    refuse_waiter(m, now, *index, RejectedReason::queue_timeout);
  }
  if (bool const busy = m.loads.is_busy(now); m.notified.busy(busy)) {
    m.orders.act(BusyChanged{busy, m.loads.excess(now)});
  }
}

}  // namespace lastcall::lifecycle::rules
