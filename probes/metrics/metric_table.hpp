// Every metric family: the one source of names, types, labels and help.
//
// Rules:
//  1. Code that uses a name that the table lacks does not compile (KnownFamily); a name that
//     docs/metrics.md lacks, or has in addition, fails a test.
//  2. Counters end in _total, gauges never do; units are a suffix, in seconds.
//  3. Help is one line: the serializer does not escape line feeds.
//  4. A label is closed (the code knows all its values), constant (the same for the whole process),
//     or open (others choose the values; Metrics caps them). There is no fourth kind.
//
// Pure values, no thread rule. Source: Dynamo's metric names; Prometheus' naming rules.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lastcall::probes {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

struct MetricFamily {
  std::string_view name;
  MetricType type;
  std::string_view labels;  // separated by single spaces; constant ones come first
  std::string_view help;
};

inline constexpr std::array kOpenLabels = std::to_array<std::string_view>(
    {"model", "endpoint", "dynamo_endpoint", "check", "registry", "signal", "code", "dp_rank"});
inline constexpr std::array kConstantLabels = std::to_array<std::string_view>(
    {"dynamo_namespace", "dynamo_component", "worker_id", "version"});

/// The names that the ingress and the ASGI middleware give to the paths of an engine's API.
inline constexpr std::array kApiEndpoints = std::to_array<std::string_view>(
    {"chat_completions", "completions", "embeddings", "images", "videos", "audios", "responses",
     "anthropic_messages", "rerank", "score", "pooling", "classify", "tensor", "tokenize",
     "invocations", "realtime", "other"});

/// Whether the label has the same value in the whole process. `model` is constant in a component's
/// families; in the frontend's it is the request's.
constexpr bool is_constant(MetricFamily const& family, std::string_view label) {
  for (std::string_view const constant : kConstantLabels) {
    if (constant == label) {
      return true;
    }
  }
  return label == "model" && family.labels.starts_with("dynamo_namespace");
}

inline constexpr std::array kMetricFamilies = std::to_array<MetricFamily>({
    // Under Dynamo's names, so that its dashboards and tools find them.
    {"dynamo_frontend_model_cancellation_total", MetricType::counter, "model endpoint request_type",
     "Requests whose client disconnected, before or during the response"},
    {"dynamo_frontend_model_rejection_total", MetricType::counter, "model endpoint",
     "Requests refused because the worker was at capacity"},
    {"dynamo_frontend_requests_total", MetricType::counter, "model endpoint status error_type",
     "Requests by outcome, as their users see it"},
    {"dynamo_frontend_request_duration_seconds", MetricType::histogram, "model",
     "Time from a request's start to its end"},
    {"dynamo_frontend_time_to_first_token_seconds", MetricType::histogram, "model",
     "Time from a request's head to the first byte of its stream, or to its response"},
    {"dynamo_frontend_worker_active_decode_blocks", MetricType::gauge, "worker_id dp_rank",
     "KV cache blocks in use, as the rank last reported; NaN while it does not"},
    {"dynamo_frontend_worker_active_prefill_tokens", MetricType::gauge, "worker_id dp_rank",
     "Tokens in prefill, as the rank last reported; NaN while it does not"},
    {"dynamo_component_request_duration_seconds", MetricType::histogram,
     "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
     "Time from a request's start to its end"},
    {"dynamo_component_requests_total", MetricType::counter,
     "dynamo_namespace dynamo_component model worker_id dynamo_endpoint", "Requests that began"},
    {"dynamo_component_inflight_requests", MetricType::gauge,
     "dynamo_namespace dynamo_component model worker_id dynamo_endpoint", "Requests in flight"},
    {"dynamo_component_cancellation_total", MetricType::counter,
     "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
     "Requests that were cancelled, each counted once"},
    {"dynamo_component_uptime_seconds", MetricType::gauge,
     "dynamo_namespace dynamo_component model worker_id", "Time since the supervisor started"},
    {"dynamo_rejection_request_total", MetricType::counter, "",
     "Requests refused because limit and queue were full"},
    {"dynamo_engine_request", MetricType::gauge, "", "Requests admitted to the engine"},
    {"dynamo_request_queue", MetricType::gauge, "", "Requests that wait for admission"},
    // Requests and their cancellation.
    {"lastcall_requests_total", MetricType::counter, "endpoint outcome", "Requests by outcome"},
    {"lastcall_requests_in_flight", MetricType::gauge, "endpoint",
     "Requests whose last byte is not written and whose abort is not complete"},
    {"lastcall_rejections_total", MetricType::counter, "reason", "Requests refused, by reason"},
    {"lastcall_cancels_total", MetricType::counter, "reason",
     "Requests that were cancelled, by reason, each counted once"},
    {"lastcall_cancel_confirm_seconds", MetricType::histogram, "reason",
     "Time from a request's cancellation to the engine's confirmation"},
    {"lastcall_cancels_unconfirmed", MetricType::gauge, "",
     "Requests that were cancelled and that the engine has not confirmed"},
    {"lastcall_cancels_overdue", MetricType::gauge, "",
     "Requests that were cancelled 5 s ago or earlier and that the engine has not confirmed"},
    // Lifecycle.
    {"lastcall_phase", MetricType::gauge, "phase", "1 for the current phase, 0 for the others"},
    {"lastcall_phase_duration_seconds", MetricType::histogram, "phase outcome",
     "How long phases of drains and stops took"},
    {"lastcall_grace_seconds", MetricType::gauge, "",
     "Longest duration of a stop: shutdown.grace_period, or less if the pod grants less"},
    {"lastcall_ready", MetricType::gauge, "", "1 while this instance should receive requests"},
    {"lastcall_shim_missing", MetricType::gauge, "",
     "1 while checks pass and no shim is connected: a stop would cut running requests"},
    {"lastcall_stops_total", MetricType::counter, "mode", "Stops that began"},
    {"lastcall_stop_deadline_left_seconds", MetricType::gauge, "",
     "Time left until the deadline of the stop; absent while none is under way"},
    {"lastcall_signals_total", MetricType::counter, "signal", "Signals received"},
    {"lastcall_signals_ignored_total", MetricType::counter, "signal",
     "Stop signals ignored because a stop was under way"},
    {"lastcall_restarts_total", MetricType::counter, "process",
     "Processes that were started "
     "again"},
    {"lastcall_prestop_calls_total", MetricType::counter, "hook", "preStop calls received"},
    {"lastcall_prestop_refused_total", MetricType::counter, "",
     "Calls of the preStop listener that were refused: without a token, with a wrong one, or from "
     "within the pod"},
    {"lastcall_http_calls_refused_total", MetricType::counter, "path",
     "Calls of the probe port that were refused: without a token, with a wrong one, or while the "
     "supervisor's own cannot be read"},
    {"lastcall_prestop_false_total", MetricType::counter, "",
     "preStop calls after which the pod serves again, because it was not being deleted"},
    {"lastcall_prestop_waiting", MetricType::gauge, "",
     "preStop calls of the engine's container that have not returned"},
    {"lastcall_prestop_held_seconds", MetricType::histogram, "",
     "How long the engine's stop signal was held back"},
    {"lastcall_engine_awaited", MetricType::gauge, "",
     "1 while waiting for another engine, in preStop mode"},
    {"lastcall_oom_kills_total", MetricType::counter, "",
     "Processes of the engine's container killed for lack of memory"},
    // The engine.
    {"lastcall_engine_health", MetricType::gauge, "verdict",
     "1 for the current verdict on the engine, 0 for the others"},
    {"lastcall_engine_checks_total", MetricType::counter, "check result",
     "Engine checks by result"},
    {"lastcall_engine_check_duration_seconds", MetricType::histogram, "check",
     "How long engine checks took"},
    {"lastcall_engine_metrics_up", MetricType::gauge, "",
     "1 while the engine's own metrics are part of this text; absent without "
     "probes.merge_engine_metrics"},
    // Admission.
    {"lastcall_admission_limit", MetricType::gauge, "kind",
     "Largest number of requests that may run or wait; +Inf while unlimited"},
    {"lastcall_admission_wait_seconds", MetricType::histogram, "",
     "How long admitted requests had waited"},
    {"lastcall_busy", MetricType::gauge, "", "1 while load thresholds are exceeded"},
    {"lastcall_rank_active_decode_blocks", MetricType::gauge, "dp_rank",
     "KV cache blocks in use, as the rank last reported; NaN while it does not"},
    {"lastcall_rank_kv_total_blocks", MetricType::gauge, "dp_rank",
     "KV cache blocks in total, as the rank last reported; NaN while it does not"},
    {"lastcall_rank_active_prefill_tokens", MetricType::gauge, "dp_rank",
     "Tokens in prefill, as the rank last reported; NaN while it does not"},
    // Peers and registries.
    {"lastcall_ipc_peers", MetricType::gauge, "role", "Peers connected to the IPC sockets"},
    {"lastcall_ipc_peers_dropped_total", MetricType::counter, "reason",
     "Peers whose connection the supervisor closed"},
    {"lastcall_ipc_errors_total", MetricType::counter, "code", "Error lines sent to peers"},
    {"lastcall_registry_registered", MetricType::gauge, "registry",
     "1 while this instance is registered in the registry"},
    {"lastcall_registry_operations_total", MetricType::counter, "registry operation result",
     "Registrations and deregistrations by result"},
    {"lastcall_registry_operation_duration_seconds", MetricType::histogram, "registry operation",
     "How long registrations and deregistrations took"},
    // The ingress.
    {"lastcall_ingress_buffer_bytes", MetricType::gauge, "",
     "Memory of the buffers of all connections, and of the connections themselves"},
    {"lastcall_ingress_connections", MetricType::gauge, "side",
     "Connections of clients and to the engine"},
    {"lastcall_ingress_control_requests_total", MetricType::counter, "decision",
     "Requests to control paths of the engine that are not open to everybody"},
    {"lastcall_ingress_evictions_total", MetricType::counter, "reason",
     "Connections closed to make room for others, by what was scarce"},
    {"lastcall_ingress_event_gap_seconds", MetricType::histogram, "endpoint",
     "Time between events of a stream, as they were read from the engine"},
    {"lastcall_ingress_refusals_total", MetricType::counter, "type",
     "Requests and connections that the ingress answered itself, by the type of the error"},
    {"lastcall_ingress_sheds_total", MetricType::counter, "reason",
     "Connections and requests refused for lack of room, by what was scarce"},
    {"lastcall_ingress_time_to_first_byte_seconds", MetricType::histogram, "endpoint",
     "Time from a request's head to its response, of a stream to the first byte of its body"},
    {"lastcall_ingress_tls_failures_total", MetricType::counter, "reason",
     "TLS handshakes of clients that failed, except those that the client broke off"},
    // The supervisor itself.
    {"lastcall_build_info", MetricType::gauge, "version", "Always 1; the labels name the build"},
    {"lastcall_uptime_seconds", MetricType::gauge, "", "Time since the supervisor started"},
    {"lastcall_loop_heartbeat_age_seconds", MetricType::gauge, "",
     "Time since the supervisor's loop last moved"},
    {"lastcall_loop_slow_steps_total", MetricType::counter, "event",
     "Steps of the supervisor's loop, and of threads of the ingress, that took more than 5 ms, by "
     "the event or the kind of socket that they served"},
});

/// The family of that name; a name that the table lacks is an error of the compiler.
struct KnownFamily {
  consteval KnownFamily(char const* name) : entry(find(name)) {}

  MetricFamily const& entry;

 private:
  static consteval MetricFamily const& find(std::string_view name) {
    for (auto const& family : kMetricFamilies) {
      if (family.name == name) {
        return family;
      }
    }
    throw "no such metric family";
  }
};

}  // namespace lastcall::probes
