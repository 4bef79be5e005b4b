#include "supervisor/runtime/listener/metrics_feed.hpp"

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
  if (auto const* settled = std::get_if<lifecycle::RequestSettled>(&action)) {
    count_settled(metrics, *settled);
  } else if (auto const* cancelled = std::get_if<lifecycle::CancelCounted>(&action)) {
    metrics.cancel_signalled(cancelled->endpoint, cancelled->reason);
    if (cancelled->reason == lifecycle::CancelReason::client_disconnect && !cancelled->from_tier) {
      metrics.client_cancelled(cancelled->model, cancelled->endpoint, cancelled->stream);
    }
  } else if (auto const* confirmed = std::get_if<lifecycle::CancelSettled>(&action)) {
    metrics.cancel_confirmed(confirmed->reason, confirmed->elapsed);
  } else if (auto const* admit = std::get_if<lifecycle::Admit>(&action)) {
    metrics.admission_waited(admit->waited);
  } else if (auto const* begun = std::get_if<lifecycle::PhaseBegun>(&action)) {
    metrics.set_phase(begun->phase);
  } else if (auto const* ended = std::get_if<lifecycle::PhaseEnded>(&action)) {
    metrics.phase_ended(ended->phase, outcome_of(ended->outcome), ended->elapsed);
  } else if (auto const* ignored = std::get_if<lifecycle::SignalIgnored>(&action)) {
    metrics.signal_ignored(ignored->name);
  } else if (auto const* stop = std::get_if<lifecycle::StopBegun>(&action)) {
    metrics.stop_began(stop->mode == lifecycle::StopMode::fatal);
    metrics.set_stop_deadline(lifecycle::to_ms(stop->deadline));
  } else if (auto const* announced = std::get_if<lifecycle::AnnouncePhase>(&action)) {
    metrics.set_stop_deadline(
        announced->deadline ? std::optional(lifecycle::to_ms(*announced->deadline)) : std::nullopt);
  } else if (auto const* changed = std::get_if<lifecycle::VerdictChanged>(&action)) {
    metrics.set_verdict(verdict_of(changed->verdict));
  }
}

}  // namespace lastcall::runtime
