// The names of all metric families, in the order of a scrape. What a family means, its labels, and
// the functions that count it are in its topic's file, next to its name there.
//
// Rules:
//  1. Code that registers a name that this list lacks does not compile (FamilyName); a name that no
//     topic registers, or that docs/metrics.md lacks or has in addition, fails a test.
//  2. Counters, gauges and histograms follow each other, and in each the names that are Dynamo's
//     come first. A scrape is compared with earlier ones by people: a new name goes where its like
//     are.
//
// Pure values, no thread rule. Source: Dynamo's metric names; Prometheus' naming rules.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace lastcall::probes {

inline constexpr std::array kFamilyNames = std::to_array<std::string_view>({
    "dynamo_frontend_model_cancellation_total",
    "dynamo_frontend_model_rejection_total",
    "dynamo_frontend_requests_total",
    "dynamo_component_requests_total",
    "dynamo_component_cancellation_total",
    "dynamo_rejection_request_total",
    "lastcall_requests_total",
    "lastcall_rejections_total",
    "lastcall_cancels_total",
    "lastcall_stops_total",
    "lastcall_signals_total",
    "lastcall_signals_ignored_total",
    "lastcall_restarts_total",
    "lastcall_prestop_calls_total",
    "lastcall_prestop_refused_total",
    "lastcall_http_calls_refused_total",
    "lastcall_prestop_false_total",
    "lastcall_loop_slow_steps_total",
    "lastcall_oom_kills_total",
    "lastcall_engine_checks_total",
    "lastcall_ipc_peers_dropped_total",
    "lastcall_ipc_errors_total",
    "lastcall_registry_operations_total",
    "lastcall_ingress_evictions_total",
    "lastcall_ingress_sheds_total",
    "lastcall_ingress_tls_failures_total",
    "lastcall_ingress_control_requests_total",
    "lastcall_ingress_refusals_total",
    "lastcall_stop_deadline_left_seconds",
    "dynamo_frontend_worker_active_decode_blocks",
    "dynamo_frontend_worker_active_prefill_tokens",
    "dynamo_component_inflight_requests",
    "dynamo_component_uptime_seconds",
    "dynamo_engine_request",
    "dynamo_request_queue",
    "lastcall_requests_in_flight",
    "lastcall_cancels_unconfirmed",
    "lastcall_cancels_overdue",
    "lastcall_phase",
    "lastcall_grace_seconds",
    "lastcall_ready",
    "lastcall_shim_missing",
    "lastcall_prestop_waiting",
    "lastcall_engine_awaited",
    "lastcall_engine_health",
    "lastcall_engine_metrics_up",
    "lastcall_admission_limit",
    "lastcall_busy",
    "lastcall_rank_active_decode_blocks",
    "lastcall_rank_kv_total_blocks",
    "lastcall_rank_active_prefill_tokens",
    "lastcall_ipc_peers",
    "lastcall_registry_registered",
    "lastcall_ingress_connections",
    "lastcall_ingress_buffer_bytes",
    "lastcall_build_info",
    "lastcall_uptime_seconds",
    "lastcall_loop_heartbeat_age_seconds",
    "dynamo_frontend_request_duration_seconds",
    "dynamo_frontend_time_to_first_token_seconds",
    "dynamo_component_request_duration_seconds",
    "lastcall_cancel_confirm_seconds",
    "lastcall_phase_duration_seconds",
    "lastcall_prestop_held_seconds",
    "lastcall_engine_check_duration_seconds",
    "lastcall_admission_wait_seconds",
    "lastcall_registry_operation_duration_seconds",
    "lastcall_ingress_event_gap_seconds",
    "lastcall_ingress_time_to_first_byte_seconds",
});

/// One of the names; another one is an error of the compiler.
struct FamilyName {
  consteval FamilyName(char const* name) : text(name), place(find(name)) {}

  std::string_view text;
  std::size_t place;  // in a scrape

 private:
  static consteval std::size_t find(std::string_view name) {
    for (std::size_t place = 0; place < kFamilyNames.size(); ++place) {
      if (kFamilyNames[place] == name) {
        return place;
      }
    }
    throw "no such metric family";
  }
};

}  // namespace lastcall::probes
