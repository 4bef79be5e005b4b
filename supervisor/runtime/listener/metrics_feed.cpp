#include "supervisor/runtime/listener/metrics_feed.hpp"

#include <optional>
#include <variant>

#include "base/overloaded.hpp"
#include "core/instant.hpp"

namespace lastcall::runtime {
namespace {

probes::Verdict verdict_of(lifecycle::Verdict verdict) {
  switch (verdict) {
    case lifecycle::Verdict::starting:
      return probes::Verdict::starting;
    case lifecycle::Verdict::healthy:
      return probes::Verdict::healthy;
    case lifecycle::Verdict::busy:
      return probes::Verdict::busy;
    case lifecycle::Verdict::unresponsive:
      return probes::Verdict::unresponsive;
    case lifecycle::Verdict::wedged:
      return probes::Verdict::wedged;
    case lifecycle::Verdict::dead:
      return probes::Verdict::dead;
  }
  return probes::Verdict::starting;
}

probes::PhaseOutcome outcome_of(lifecycle::PhaseOutcome outcome) {
  switch (outcome) {
    case lifecycle::PhaseOutcome::timed_out:
      return probes::PhaseOutcome::timed_out;
    case lifecycle::PhaseOutcome::skipped:
      return probes::PhaseOutcome::skipped;
    case lifecycle::PhaseOutcome::failed:
      return probes::PhaseOutcome::failed;
    case lifecycle::PhaseOutcome::running:
    case lifecycle::PhaseOutcome::completed:
      return probes::PhaseOutcome::completed;
  }
  return probes::PhaseOutcome::completed;
}

void count_settled(probes::Metrics& metrics, lifecycle::RequestSettled const& settled) {
  metrics.request_settled(settled);
  if (settled.outcome == lifecycle::Outcome::rejected) {
    metrics.request_rejected(
        settled.model, settled.endpoint,
        settled.rejected.value_or(lifecycle::RejectedReason::draining),
        {.begun = settled.begun, .full = settled.full, .from_tier = settled.from_tier});
  } else {
    metrics.request_ended(settled.endpoint, settled.outcome);
  }
}

void count_cancelled(probes::Metrics& metrics, lifecycle::CancelCounted const& cancelled) {
  metrics.cancel_signalled(cancelled.endpoint, cancelled.reason);
  if (cancelled.reason == lifecycle::CancelReason::client_disconnect && !cancelled.from_tier) {
    metrics.client_cancelled(cancelled.model, cancelled.endpoint, cancelled.stream);
  }
}

}  // namespace

probes::PeerDrop drop_of(ipc::Drop why) {
  switch (why) {
    case ipc::Drop::slow_reader:
      return probes::PeerDrop::slow_reader;
    case ipc::Drop::backlog:
      return probes::PeerDrop::backlog;
    case ipc::Drop::protocol:
      return probes::PeerDrop::protocol;
    case ipc::Drop::not_allowed:
      return probes::PeerDrop::not_allowed;
  }
  return probes::PeerDrop::protocol;
}

void count(probes::Metrics& metrics, lifecycle::Action const& action) {
  namespace act = lifecycle;
  std::visit(Overloaded{
                 [&](act::RequestSettled const& settled) { count_settled(metrics, settled); },
                 [&](act::CancelCounted const& cancelled) { count_cancelled(metrics, cancelled); },
                 [&](act::CancelSettled const& confirmed) {
                   metrics.cancel_confirmed(confirmed.reason, confirmed.elapsed);
                 },
                 [&](act::Admit const& admit) { metrics.admission_waited(admit.waited); },
                 [&](act::PhaseBegun const& begun) { metrics.set_phase(begun.phase); },
                 [&](act::PhaseEnded const& ended) {
                   metrics.phase_ended(ended.phase, outcome_of(ended.outcome), ended.elapsed);
                 },
                 [&](act::SignalIgnored const& ignored) { metrics.signal_ignored(ignored.name); },
                 [&](act::StopBegun const& stop) {
                   metrics.stop_began(stop.mode == lifecycle::StopMode::fatal);
                   metrics.set_stop_deadline(lifecycle::to_ms(stop.deadline));
                 },
                 [&](act::AnnouncePhase const& announced) {
                   metrics.set_stop_deadline(
                       announced.deadline ? std::optional(lifecycle::to_ms(*announced.deadline))
                                          : std::nullopt);
                 },
                 [&](act::VerdictChanged const& changed) {
                   metrics.set_verdict(verdict_of(changed.verdict));
                 },
                 [](auto const&) {},
             },
             action);
}

}  // namespace lastcall::runtime
