#include "probes/metrics/metrics.hpp"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <prometheus/text_serializer.h>

#include "core/report.hpp"
#include "probes/metrics/metric_families.hpp"

namespace lastcall::probes {

namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

Buckets const kFast{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
Buckets const kToFirstByte{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,  2.5,
                           5,     10,   20,    30,   60,  120,  300, 600};
Buckets const kSlow{0.1, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600};

constexpr std::array<std::string_view, 2> kOperations{"register", "deregister"};
constexpr std::array<std::string_view, 3> kProcesses{"engine", "supervisor", "shim"};

template <typename Enum, std::size_t N>
constexpr std::string_view word(std::array<std::string_view, N> const& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}
static_assert(word(kOperations, RegistryOperation::deregister) == "deregister");
static_assert(word(kProcesses, Restarted::shim) == "shim");

/// Dynamo's words for why a request has failed; empty for one that has not.
std::string_view error_type_of(lifecycle::Outcome outcome) {
  switch (outcome) {
    case lifecycle::Outcome::completed:
      return "";
    case lifecycle::Outcome::cancelled:
      return "cancelled";
    case lifecycle::Outcome::rejected:
      return "overload";
    case lifecycle::Outcome::migrated:
    case lifecycle::Outcome::error:
    case lifecycle::Outcome::lost:
    case lifecycle::Outcome::engine_dead:
      return "internal";
  }
  return "internal";
}

}  // namespace

Metrics::Metrics(MetricIdentity const& identity) : families_(std::make_unique<Families>(identity)) {
  families_->build_info.at({}).Set(1);
}

Metrics::~Metrics() = default;

void Metrics::request_began(std::string_view endpoint) {
  families_->component_requests.at({families_->own_name(endpoint)}).Increment();
  families_->component_inflight.at({families_->own_name(endpoint)}).Increment();
  families_->in_flight.at({endpoint}).Increment();
}

void Metrics::request_ended(std::string_view endpoint, lifecycle::Outcome outcome) {
  families_->component_inflight.at({families_->own_name(endpoint)}).Decrement();
  families_->in_flight.at({endpoint}).Decrement();
  families_->requests.at({endpoint, lifecycle::name(outcome)}).Increment();
}

void Metrics::request_rejected(std::string_view model, std::string_view endpoint,
                               lifecycle::RejectedReason reason, Refused how) {
  if (how.begun) {
    families_->component_inflight.at({families_->own_name(endpoint)}).Decrement();
    families_->in_flight.at({endpoint}).Decrement();
  }
  families_->rejections.at({lifecycle::name(reason)}).Increment();
  families_->requests.at({endpoint, lifecycle::name(lifecycle::Outcome::rejected)}).Increment();
  if (reason != lifecycle::RejectedReason::draining && !how.from_tier) {
    families_->frontend_rejection.at({model, endpoint}).Increment();
  }
  if (how.full) {
    families_->rejection.at({}).Increment();
  }
}

void Metrics::request_settled(lifecycle::RequestSettled const& settled) {
  double const took = Seconds(settled.elapsed).count();
  if (settled.begun) {
    families_->component_duration.at({families_->own_name(settled.endpoint)}, kToFirstByte)
        .Observe(took);
  }
  if (settled.from_tier) {
    return;
  }
  std::string_view const error = error_type_of(settled.outcome);
  families_->frontend_requests
      .at({settled.model, settled.endpoint, error.empty() ? "success" : "error",
           error.empty() ? "none" : error})
      .Increment();
  if (settled.begun) {
    families_->frontend_duration.at({settled.model}, kToFirstByte).Observe(took);
  }
}

void Metrics::model_served(std::string_view model) {
  families_->guard.keep("model", model);
}

void Metrics::client_cancelled(std::string_view model, std::string_view endpoint,
                               std::optional<bool> streaming) {
  char const* const kind = !streaming ? "unknown" : *streaming ? "stream" : "unary";
  families_->frontend_cancellation.at({model, endpoint, kind}).Increment();
}

void Metrics::cancel_signalled(std::string_view endpoint, lifecycle::CancelReason reason) {
  families_->component_cancellation.at({families_->own_name(endpoint)}).Increment();
  families_->cancels.at({lifecycle::name(reason)}).Increment();
}

void Metrics::cancel_confirmed(lifecycle::CancelReason reason, Seconds took) {
  families_->cancel_confirm.at({lifecycle::name(reason)}, kFast).Observe(took.count());
}

void Metrics::set_cancels_overdue(std::size_t count) {
  families_->cancels_overdue.at({}).Set(static_cast<double>(count));
}

void Metrics::set_cancels_unconfirmed(std::size_t count) {
  families_->unconfirmed.set(families_->cancels_unconfirmed, count);
}

void Metrics::set_phase(lifecycle::Phase phase) {
  for (auto const word : lifecycle::vocabulary::kWordsOf<lifecycle::Phase>) {
    families_->phase.at({word}).Set(word == lifecycle::name(phase) ? 1 : 0);
  }
}

void Metrics::phase_ended(lifecycle::Phase phase, lifecycle::PhaseOutcome outcome, Seconds took) {
  families_->phase_duration.at({lifecycle::name(phase), lifecycle::name(outcome)}, kSlow)
      .Observe(took.count());
}

void Metrics::set_grace(Seconds grace) {
  families_->grace.at({}).Set(grace.count());
}

void Metrics::set_ready(bool ready) {
  families_->ready.at({}).Set(ready ? 1 : 0);
}

void Metrics::set_shim_missing(bool missing) {
  families_->shim_missing.at({}).Set(missing ? 1 : 0);
}

void Metrics::set_stop_deadline(std::optional<std::int64_t> deadline_ms) {
  families_->deadline_ms = deadline_ms.value_or(kNoDeadline);
}

void Metrics::stop_began(bool fatal) {
  families_->stops.at({fatal ? "fatal" : "graceful"}).Increment();
}

void Metrics::signal_received(std::string_view signal) {
  families_->signals.at({signal}).Increment();
}

void Metrics::signal_ignored(std::string_view signal) {
  families_->signals_ignored.at({signal}).Increment();
}

void Metrics::restarted(Restarted what) {
  families_->restarts.at({word(kProcesses, what)}).Increment();
}

void Metrics::slow_step(std::string_view event) {
  families_->slow_steps.at({event}).Increment();
}

void Metrics::oom_kills(std::uint64_t count) {
  families_->oom_kills.at({}).Increment(static_cast<double>(count));
}

void Metrics::hook_called(bool engine) {
  families_->prestop_calls.at({engine ? "engine" : "supervisor"}).Increment();
}

void Metrics::call_refused(std::string_view path) {
  auto& [of_prestop, of_probes] = families_->calls_refused;
  (path.empty() ? of_prestop.at({}) : of_probes.at({path})).Increment();
}

void Metrics::false_hook() {
  families_->prestop_false.at({}).Increment();
}

void Metrics::set_hooks_waiting(std::size_t count) {
  families_->prestop_waiting.at({}).Set(static_cast<double>(count));
}

void Metrics::hook_released(Seconds held) {
  families_->prestop_held.at({}, kSlow).Observe(held.count());
}

void Metrics::set_engine_awaited(bool awaited) {
  families_->engine_awaited.at({}).Set(awaited ? 1 : 0);
}

void Metrics::set_verdict(lifecycle::Verdict verdict) {
  for (auto const word : lifecycle::vocabulary::kWordsOf<lifecycle::Verdict>) {
    families_->engine_health.at({word}).Set(word == lifecycle::name(verdict) ? 1 : 0);
  }
}

void Metrics::check_ended(std::string_view check, CheckOutcome const& outcome) {
  families_->checks.at({check, name(outcome.result)}).Increment();
  families_->check_duration.at({check}, kFast).Observe(Seconds(outcome.latency).count());
}

void Metrics::set_admission(std::size_t running, std::size_t waiting) {
  families_->running.set(families_->engine_request, running);
  families_->waiting.set(families_->request_queue, waiting);
}

void Metrics::set_admission_limits(std::optional<std::uint32_t> running, std::uint32_t waiting) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  families_->admission_limit.at({"running"}).Set(running ? *running : kUnlimited);
  families_->admission_limit.at({"waiting"}).Set(waiting);
}

void Metrics::admission_waited(Seconds took) {
  families_->admission_wait.at({}, kFast).Observe(took.count());
}

void Metrics::set_busy(bool busy) {
  families_->busy.at({}).Set(busy ? 1 : 0);
}

void Metrics::set_rank_load(std::uint32_t rank, std::optional<std::uint64_t> active_decode_blocks,
                            std::optional<std::uint64_t> kv_total_blocks,
                            std::optional<std::uint64_t> active_prefill_tokens) {
  std::string const label = std::to_string(rank);
  auto const set = [&label](auto& gauge, std::optional<std::uint64_t> figure) {
    gauge.at({label}).Set(figure ? static_cast<double>(*figure)
                                 : std::numeric_limits<double>::quiet_NaN());
  };
  set(families_->frontend_decode_blocks, active_decode_blocks);
  set(families_->frontend_prefill_tokens, active_prefill_tokens);
  set(families_->rank_decode_blocks, active_decode_blocks);
  set(families_->rank_total_blocks, kv_total_blocks);
  set(families_->rank_prefill_tokens, active_prefill_tokens);
}

void Metrics::set_peers(std::string_view role, std::size_t count) {
  families_->peers.at({role}).Set(static_cast<double>(count));
}

void Metrics::peer_dropped(std::string_view reason) {
  families_->peers_dropped.at({reason}).Increment();
}

void Metrics::protocol_error(std::string_view code) {
  families_->ipc_errors.at({code}).Increment();
}

void Metrics::registry_ended(std::string_view registry, RegistryOperation operation, bool confirmed,
                             Seconds took) {
  auto const what = word(kOperations, operation);
  families_->registry_operations.at({registry, what, confirmed ? "confirmed" : "failed"})
      .Increment();
  families_->registry_duration.at({registry, what}, kFast).Observe(took.count());
}

void Metrics::registry_retried(std::string_view registry, RegistryOperation operation) {
  families_->registry_operations.at({registry, word(kOperations, operation), "retried"})
      .Increment();
}

void Metrics::set_registered(std::string_view registry, bool registered) {
  families_->registered.at({registry}).Set(registered ? 1 : 0);
}

void Metrics::set_ingress_connections(std::size_t clients, std::size_t upstream) {
  families_->ingress_connections.at({"client"}).Set(static_cast<double>(clients));
  families_->ingress_connections.at({"upstream"}).Set(static_cast<double>(upstream));
}

void Metrics::ingress_control_called(bool is_granted) {
  families_->ingress_control.at({is_granted ? "granted" : "refused"}).Increment();
}

void Metrics::ingress_tls_failed(std::string_view reason) {
  families_->ingress_tls_failures.at({reason}).Increment();
}

void Metrics::ingress_refused(std::string_view type) {
  families_->ingress_refusals.at({type}).Increment();
}

void Metrics::ingress_evicted(std::string_view reason) {
  families_->ingress_evictions.at({reason}).Increment();
}

void Metrics::ingress_shed(std::string_view reason) {
  families_->ingress_sheds.at({reason}).Increment();
}

void Metrics::set_ingress_buffers(std::size_t bytes) {
  families_->ingress_buffers.at({}).Set(static_cast<double>(bytes));
}

void Metrics::first_byte(std::string_view model, std::string_view endpoint, Seconds took) {
  families_->frontend_first_token.at({model}, kToFirstByte).Observe(took.count());
  families_->ingress_first_byte.at({endpoint}, kToFirstByte).Observe(took.count());
}

void Metrics::event_gap(std::string_view endpoint, Seconds took) {
  families_->ingress_event_gap.at({endpoint}, kFast).Observe(took.count());
}

void Metrics::set_engine_metrics_up(bool up) {
  families_->engine_metrics_up.at({}).Set(up ? 1 : 0);
}

void Metrics::watch_heartbeat(PublishedState const& state) {
  families_->heartbeat = &state;
}

std::string Metrics::serialize() const {
  auto& all = *families_;
  auto const now = monotonic_ms();
  auto const seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000.0; };
  all.uptime.at({}).Set(seconds(now - all.started_ms));
  all.component_uptime.at({}).Set(seconds(now - all.started_ms));
  auto const deadline = all.deadline_ms.load();
  if (deadline == kNoDeadline && all.deadline_left_gauge != nullptr) {
    all.deadline_left.Remove(std::exchange(all.deadline_left_gauge, nullptr));
  } else if (deadline != kNoDeadline) {
    all.deadline_left_gauge = &all.deadline_left.Add({});
    all.deadline_left_gauge->Set(seconds(deadline - now));
  }
  if (auto const* const heartbeat = all.heartbeat.load()) {
    all.heartbeat_age.at({}).Set(seconds(heartbeat->since_beat().count()));
  }
  return prometheus::TextSerializer{}.Serialize(all.registry.Collect());
}

}  // namespace lastcall::probes
