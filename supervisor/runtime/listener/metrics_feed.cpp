#include "supervisor/runtime/listener/metrics_feed.hpp"

#include <optional>
#include <variant>

#include "base/overloaded.hpp"
#include "core/instant.hpp"

namespace lastcall::runtime {
namespace {

void count_settled(probes::Metrics& metrics, lifecycle::RequestSettled const& settled) {
  metrics.requests().settled(settled);
  if (settled.outcome == lifecycle::Outcome::rejected) {
    metrics.requests().rejected(
        settled.model, settled.endpoint,
        settled.rejected.value_or(lifecycle::RejectedReason::draining),
        {.begun = settled.begun, .full = settled.full, .from_tier = settled.from_tier});
  } else {
    metrics.requests().ended(settled.endpoint, settled.outcome);
  }
}

void count_cancelled(probes::Metrics& metrics, lifecycle::CancelCounted const& cancelled) {
  metrics.cancels().signalled(cancelled.endpoint, cancelled.reason);
  if (cancelled.reason == lifecycle::CancelReason::client_disconnect && !cancelled.from_tier) {
    metrics.cancels().client_cancelled(cancelled.model, cancelled.endpoint, cancelled.stream);
  }
}

}  // namespace

void count(probes::Metrics& metrics, lifecycle::Action const& action) {
  namespace act = lifecycle;
  std::visit(Overloaded{
                 [&](act::RequestSettled const& settled) { count_settled(metrics, settled); },
                 [&](act::CancelCounted const& cancelled) { count_cancelled(metrics, cancelled); },
                 [&](act::CancelSettled const& confirmed) {
                   metrics.cancels().confirmed(confirmed.reason, confirmed.elapsed);
                 },
                 [&](act::Admit const& admit) { metrics.admission().waited(admit.waited); },
                 [&](act::PhaseBegun const& begun) { metrics.lifecycle().set_phase(begun.phase); },
                 [&](act::PhaseEnded const& ended) {
                   metrics.lifecycle().phase_ended(ended.phase, ended.outcome, ended.elapsed);
                 },
                 [&](act::SignalIgnored const& ignored) {
                   metrics.lifecycle().signal_ignored(ignored.name);
                 },
                 [&](act::StopBegun const& stop) {
                   metrics.lifecycle().stop_began(stop.mode == lifecycle::StopMode::fatal);
                   metrics.lifecycle().set_stop_deadline(lifecycle::to_ms(stop.deadline));
                 },
                 [&](act::AnnouncePhase const& announced) {
                   metrics.lifecycle().set_stop_deadline(
                       announced.deadline ? std::optional(lifecycle::to_ms(*announced.deadline))
                                          : std::nullopt);
                 },
                 [&](act::VerdictChanged const& changed) {
                   metrics.engine().set_verdict(changed.verdict);
                 },
                 [](auto const&) {},
             },
             action);
}

void count(probes::Metrics& metrics, discovery::RegistryStatus const& status) {
  using discovery::RegistryState;
  using probes::RegistryOperation;
  bool const has_entered = status.state == RegistryState::registered;
  bool const has_left = status.state == RegistryState::deregistered;
  if (has_entered || has_left || status.state == RegistryState::failed) {
    metrics.registries().ended(
        status.name, has_entered ? RegistryOperation::register_ : RegistryOperation::deregister,
        has_entered || has_left, status.latency);
    if (has_entered || has_left) {  // after a failure it may still be registered
      metrics.registries().set_registered(status.name, has_entered);
    }
  } else if (status.state == RegistryState::registering) {
    metrics.registries().retried(status.name, RegistryOperation::register_);
    metrics.registries().set_registered(status.name, false);
  } else if (status.state == RegistryState::deregistering) {
    metrics.registries().retried(status.name, RegistryOperation::deregister);
  }
}

}  // namespace lastcall::runtime
