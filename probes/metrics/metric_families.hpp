// The families of metric_table.hpp as prometheus-cpp objects: one member each, registered in order.
//
// Invariant: outside the table, the members here are the only place where a family's name appears.
//
// Thread rule: see metrics.hpp. This header is for metrics.cpp alone.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/utf8.hpp"
#include "probes/metrics/metric_series.hpp"
#include "probes/metrics/metric_table.hpp"
#include "probes/metrics/metrics.hpp"

namespace lastcall::probes {

/// Stands for the deadline while no stop has one.
inline constexpr std::int64_t kNoDeadline = -1;

/// A gauge that is set at every step of the loop and changes at few of them.
class Level {
 public:
  void set(Series<prometheus::Gauge>& gauge, std::size_t value) {
    if (series_ == nullptr || last_ != value) {
      series_ = series_ == nullptr ? &gauge.at({}) : series_;
      series_->Set(static_cast<double>(value));
      last_ = value;
    }
  }

 private:
  prometheus::Gauge* series_ = nullptr;
  std::size_t last_ = 0;
};

struct Metrics::Families {
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;

  explicit Families(MetricIdentity const& who) : identity(who) {}

  prometheus::Labels constants(MetricFamily const& entry) const {
    prometheus::Labels labels;
    for (auto const& [name, value] :
         {std::pair{"dynamo_namespace", &identity.dynamo_namespace},
          std::pair{"dynamo_component", &identity.component}, std::pair{"model", &identity.model},
          std::pair{"worker_id", &identity.worker_id}, std::pair{"version", &identity.version}}) {
      if (entry.labels.find(name) != std::string_view::npos && is_constant(entry, name)) {
        labels[name] = value->empty() ? "unknown" : utf8::is_valid(*value) ? *value : "other";
      }
    }
    return labels;
  }
  /// Dynamo's name of an endpoint within the component: an engine has one name for its whole API.
  std::string_view own_name(std::string_view endpoint) const {
    bool const is_api =
        std::find(kApiEndpoints.begin(), kApiEndpoints.end(), endpoint) != kApiEndpoints.end();
    return is_api || endpoint.empty() ? std::string_view(identity.endpoint) : endpoint;
  }

  template <typename Metric, typename Builder>
  prometheus::Family<Metric>& build(Builder builder, KnownFamily family) {
    return builder.Name(std::string(family.entry.name))
        .Help(std::string(family.entry.help))
        .Labels(constants(family.entry))
        .Register(registry);
  }
  Series<Counter> counter(KnownFamily family) {
    return {family.entry, build<Counter>(prometheus::BuildCounter(), family), guard};
  }
  Series<Gauge> gauge(KnownFamily family) {
    return {family.entry, build<Gauge>(prometheus::BuildGauge(), family), guard};
  }
  Series<Histogram> histogram(KnownFamily family) {
    return {family.entry, build<Histogram>(prometheus::BuildHistogram(), family), guard};
  }

  Level running, waiting, unconfirmed;

  MetricIdentity const identity;
  prometheus::Registry registry;
  LabelGuard guard{kMaxLabelValues};

  // Written by the loop, read by a scrape.
  std::atomic<std::int64_t> deadline_ms = kNoDeadline;
  std::atomic<PublishedState const*> heartbeat = nullptr;
  std::int64_t const started_ms = monotonic_ms();

  // It exists only during a stop, so it is not a Series; only serialize() uses it.
  prometheus::Family<Gauge>& deadline_left =
      build<Gauge>(prometheus::BuildGauge(), "lastcall_stop_deadline_left_seconds");
  Gauge* deadline_left_gauge = nullptr;

  Series<Counter> frontend_cancellation = counter("dynamo_frontend_model_cancellation_total");
  Series<Counter> frontend_rejection = counter("dynamo_frontend_model_rejection_total");
  Series<Counter> frontend_requests = counter("dynamo_frontend_requests_total");
  Series<Histogram> frontend_duration = histogram("dynamo_frontend_request_duration_seconds");
  Series<Histogram> frontend_first_token = histogram("dynamo_frontend_time_to_first_token_seconds");
  Series<Gauge> frontend_decode_blocks = gauge("dynamo_frontend_worker_active_decode_blocks");
  Series<Gauge> frontend_prefill_tokens = gauge("dynamo_frontend_worker_active_prefill_tokens");
  Series<Histogram> component_duration = histogram("dynamo_component_request_duration_seconds");
  Series<Counter> component_requests = counter("dynamo_component_requests_total");
  Series<Gauge> component_inflight = gauge("dynamo_component_inflight_requests");
  Series<Counter> component_cancellation = counter("dynamo_component_cancellation_total");
  Series<Gauge> component_uptime = gauge("dynamo_component_uptime_seconds");
  Series<Counter> rejection = counter("dynamo_rejection_request_total");
  Series<Gauge> engine_request = gauge("dynamo_engine_request");
  Series<Gauge> request_queue = gauge("dynamo_request_queue");

  Series<Counter> requests = counter("lastcall_requests_total");
  Series<Gauge> in_flight = gauge("lastcall_requests_in_flight");
  Series<Counter> rejections = counter("lastcall_rejections_total");
  Series<Counter> cancels = counter("lastcall_cancels_total");
  Series<Histogram> cancel_confirm = histogram("lastcall_cancel_confirm_seconds");
  Series<Gauge> cancels_unconfirmed = gauge("lastcall_cancels_unconfirmed");
  Series<Gauge> cancels_overdue = gauge("lastcall_cancels_overdue");

  Series<Gauge> phase = gauge("lastcall_phase");
  Series<Histogram> phase_duration = histogram("lastcall_phase_duration_seconds");
  Series<Gauge> grace = gauge("lastcall_grace_seconds");
  Series<Gauge> ready = gauge("lastcall_ready");
  Series<Gauge> shim_missing = gauge("lastcall_shim_missing");
  Series<Counter> stops = counter("lastcall_stops_total");
  Series<Counter> signals = counter("lastcall_signals_total");
  Series<Counter> signals_ignored = counter("lastcall_signals_ignored_total");
  Series<Counter> restarts = counter("lastcall_restarts_total");
  Series<Counter> prestop_calls = counter("lastcall_prestop_calls_total");
  std::array<Series<Counter>, 2> calls_refused{counter("lastcall_prestop_refused_total"),
                                               counter("lastcall_http_calls_refused_total")};
  Series<Counter> prestop_false = counter("lastcall_prestop_false_total");
  Series<Gauge> prestop_waiting = gauge("lastcall_prestop_waiting");
  Series<Histogram> prestop_held = histogram("lastcall_prestop_held_seconds");
  Series<Gauge> engine_awaited = gauge("lastcall_engine_awaited");
  Series<Counter> slow_steps = counter("lastcall_loop_slow_steps_total");
  Series<Counter> oom_kills = counter("lastcall_oom_kills_total");

  Series<Gauge> engine_health = gauge("lastcall_engine_health");
  Series<Counter> checks = counter("lastcall_engine_checks_total");
  Series<Gauge> engine_metrics_up = gauge("lastcall_engine_metrics_up");
  Series<Histogram> check_duration = histogram("lastcall_engine_check_duration_seconds");

  Series<Gauge> admission_limit = gauge("lastcall_admission_limit");
  Series<Histogram> admission_wait = histogram("lastcall_admission_wait_seconds");
  Series<Gauge> busy = gauge("lastcall_busy");
  Series<Gauge> rank_decode_blocks = gauge("lastcall_rank_active_decode_blocks");
  Series<Gauge> rank_total_blocks = gauge("lastcall_rank_kv_total_blocks");
  Series<Gauge> rank_prefill_tokens = gauge("lastcall_rank_active_prefill_tokens");

  Series<Gauge> peers = gauge("lastcall_ipc_peers");
  Series<Counter> peers_dropped = counter("lastcall_ipc_peers_dropped_total");
  Series<Counter> ipc_errors = counter("lastcall_ipc_errors_total");
  Series<Gauge> registered = gauge("lastcall_registry_registered");
  Series<Counter> registry_operations = counter("lastcall_registry_operations_total");
  Series<Histogram> registry_duration = histogram("lastcall_registry_operation_duration_seconds");

  Series<Gauge> ingress_connections = gauge("lastcall_ingress_connections");
  Series<Gauge> ingress_buffers = gauge("lastcall_ingress_buffer_bytes");
  Series<Counter> ingress_evictions = counter("lastcall_ingress_evictions_total");
  Series<Counter> ingress_sheds = counter("lastcall_ingress_sheds_total");
  Series<Counter> ingress_tls_failures = counter("lastcall_ingress_tls_failures_total");
  Series<Counter> ingress_control = counter("lastcall_ingress_control_requests_total");
  Series<Counter> ingress_refusals = counter("lastcall_ingress_refusals_total");
  Series<Histogram> ingress_event_gap = histogram("lastcall_ingress_event_gap_seconds");
  Series<Histogram> ingress_first_byte = histogram("lastcall_ingress_time_to_first_byte_seconds");

  Series<Gauge> build_info = gauge("lastcall_build_info");
  Series<Gauge> uptime = gauge("lastcall_uptime_seconds");
  Series<Gauge> heartbeat_age = gauge("lastcall_loop_heartbeat_age_seconds");
};

}  // namespace lastcall::probes
