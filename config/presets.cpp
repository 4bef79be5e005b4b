#include "config/presets.hpp"

#include <array>
#include <initializer_list>

#include "config/text.hpp"

// Sources of the facts: each comment names a file in the engine's own tree, or an issue thread.
// "Protocol" is docs/proposals/003-model-server-protocol of gateway-api-inference-extension.
namespace lastcall::config {
namespace {

EnginePreset vllm_preset() {
  return {
      .kind = EngineKind::vllm,
      .name = "vllm",
      // `vllm serve`: --host and --port default to 0.0.0.0 and 8000.
      .address = {"127.0.0.1", 8000},
      // vllm/entrypoints/serve/instrumentator/health.py: 200, and 503 once the engine client has
      // raised EngineDeadError. It never recovers from that, so one failure is enough
      // (failure_threshold).
      .health_path = "/health",
      // Names: protocol.
      .metrics_path = "/metrics",
      .running_gauge = "vllm:num_requests_running",
      .waiting_gauge = "vllm:num_requests_waiting",
      // Counted at each step of the scheduler's output, so it moves with every token.
      .tokens_counter = "vllm:generation_tokens_total",
      .tokens_are_live = true,
      .kv_usage_gauge = "vllm:kv_cache_usage_perc",
      // vllm/v1/metrics/loggers.py; vllm/entrypoints/generate/base/serving.py.
      .rank_label = "engine",
      .rank_header = "X-data-parallel-rank",
      // vllm/entrypoints/serve/instrumentator/server_info.py and load_aware_call: the API server
      // counts a request from its acceptance on, but only with --enable-server-load-tracking;
      // otherwise the counter stays at 0.
      .load_path = "/load",
      .completions_path = "/v1/completions",
      // vllm/entrypoints/serve/sleep and .../rlhf: these paths exist in development mode only. In
      // other modes they answer 404, and HTTP can neither put the engine to sleep nor pause it.
      .at_rest_paths = {{"/is_sleeping", "is_sleeping"}, {"/is_paused", "is_paused"}},
      // docs/usage/security.md lists the paths that --api-key leaves open, which are more than it
      // protects; the other source is the routers below vllm/entrypoints. /inference is work.
      .control_paths = {"/abort_requests", "/collective_rpc", "/finish_weight_update",
                        "/init_weight_transfer_engine", "/pause", "/reset_encoder_cache",
                        "/reset_mm_cache", "/reset_prefix_cache", "/resume", "/scale_elastic_ep",
                        "/sleep", "/start_profile", "/start_weight_update", "/stop_profile",
                        "/update_weights*", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
                        "/wake_up"},
      .status_paths = {"/get_world_size", "/health", "/is_paused", "/is_scaling_elastic_ep",
                       "/is_sleeping", "/load", "/metrics", "/ping", "/server_info",
                       "/tokenizer_info", "/version"},
      .rest_paths = {"/pause", "/sleep"},
      .wake_paths = {"/resume", "/wake_up"},
      // Gauges are set only after each scheduler step: see docs/engines.md.
      .gauge_refresh = Duration{1'000},
      // Only the API server gets TERM: its engine core and workers end with it, and a TERM sent to
      // them directly would cut the requests that it still drains. It aborts running requests
      // unless it was started with --shutdown-timeout (vllm#34730, #36666), and a second TERM
      // interrupts its cleanup (vllm#50529).
      .stop_signal = "SIGTERM",
      .main_ends_workers = true,
      // Titles that its processes give themselves (vllm/utils/system_utils.py: set_process_title):
      // VLLM::EngineCore, VLLM::EngineCore_DP0, VLLM::Worker_TP1.
      .essential_processes = {"VLLM::EngineCore*", "VLLM::Worker*"},
      .failure_threshold = 1,
  };
}

EnginePreset sglang_preset() {
  return {
      .kind = EngineKind::sglang,
      .name = "sglang",
      // `sglang.launch_server`: --port defaults to 30000.
      .address = {"127.0.0.1", 30'000},
      // GET /health does not generate a token; /health_generate does, so on a busy engine it would
      // have to wait for other work.
      .health_path = "/health",
      // Served with --enable-metrics only. Names: protocol.
      .metrics_path = "/metrics",
      .running_gauge = "sglang:num_running_reqs",
      .waiting_gauge = "sglang:num_queue_reqs",
      // Counted when a request ends (metrics_collector.py: observe_one_finished_request): if it
      // rises, the engine is alive; if it does not, nothing is proven.
      .tokens_counter = "sglang:generation_tokens_total",
      .kv_usage_gauge = "sglang:token_usage",
      .rank_label = "dp_rank",  // if there are several: scheduler_metrics_mixin.py
      // entrypoints/openai/serving_base.py: extract_routed_dp_rank_from_header (sglang#19832, March
      // 2026). Older servers ignore the header and balance the requests themselves.
      .rank_header = "X-Data-Parallel-Rank",
      .refuses_no_rank = true,
      .load_path = "",
      .completions_path = "/v1/completions",
      // python/sglang/srt/entrypoints/http_server.py: all paths that newer versions mark as the
      // administrator's. Sessions belong to a client, so their paths are not listed.
      .control_paths = {"/abort_request",
                        "/clear_hicache_storage_backend",
                        "/configure_logging",
                        "/continue_generation",
                        "/destroy_weights_update_group",
                        "/dumper",
                        "/dump_expert_distribution_record",
                        "/flush_cache",
                        "/freeze_gc",
                        "/get_weights_by_name",
                        "/hicache",
                        "/init_weights_send_group*",
                        "/init_weights_update_group",
                        "/load_lora_adapter*",
                        "/pause_generation",
                        "/release_memory_occupation",
                        "/resume_memory_occupation",
                        "/send_weights_to_remote_instance",
                        "/set_internal_state",
                        "/slow_down",
                        "/start_expert_distribution_record",
                        "/start_profile",
                        "/stop_expert_distribution_record",
                        "/stop_profile",
                        "/unload_lora_adapter",
                        "/update_weight_version",
                        "/update_weights*",
                        "/weights_checker"},
      .status_paths = {"/get_load", "/get_model_info", "/get_server_info", "/get_weight_version",
                       "/health", "/health_generate", "/metrics", "/model_info", "/ping",
                       "/server_info", "/v1/loads", "/weight_version"},
      // Same file: no path shows whether its memory was released or it was paused; only the gRPC
      // server's GetPauseStatus does (sglang#37488). While its memory is released it must not get a
      // request; while it is paused, requests wait (managers/tokenizer_manager.py,
      // scheduler_update_weights_mixin.py).
      .rest_paths = {"/pause_generation", "/release_memory_occupation"},
      .wake_paths = {"/continue_generation", "/resume_memory_occupation"},
      // The scheduler sets its gauges with each prefill batch, and our barrier request makes it run
      // one; otherwise, when it is idle, only every 30 s (llmaz#381;
      // python/sglang/srt/managers/scheduler_runtime_checker_mixin.py).
      .gauge_refresh = Duration{1'000},
      // On TERM it waits for its own running requests (sigterm_watchdog in
      // python/sglang/srt/managers/tokenizer_manager.py); by then all requests have ended here. It
      // ends by killing its own process tree.
      .stop_signal = "SIGTERM",
      .main_ends_workers = true,
      // setproctitle in python/sglang/srt/managers: scheduler.py, detokenizer_manager.py,
      // data_parallel_controller.py.
      .essential_processes = {"sglang::scheduler*", "sglang::detokenizer*",
                              "sglang::data_parallel_controller*"},
  };
}

EnginePreset trtllm_preset() {
  return {
      .kind = EngineKind::trtllm,
      .name = "trtllm",
      // `trtllm-serve`: --port defaults to 8000.
      .address = {"127.0.0.1", 8000},
      // tensorrt_llm/serve/openai_server.py: 200, or 503 once the engine is not healthy.
      .health_path = "/health",
      // Same file: this is the Prometheus text, which return_perf_metrics switches on; /metrics is
      // JSON. Names: protocol.
      .metrics_path = "/prometheus/metrics",
      .running_gauge = "trtllm_num_requests_running",
      .waiting_gauge = "trtllm_num_requests_waiting",
      // It exists in newer versions only; whether it rises with each token is not documented.
      .tokens_counter = "trtllm_generation_tokens_total",
      .kv_usage_gauge = "trtllm_kv_cache_utilization",
      .load_path = "",
      .completions_path = "/v1/completions",
      // Same file. The disaggregated server reads the events and metrics of its workers, and sets
      // the offset of their clocks. The paths below /v2 are Triton's, which serves the same engines
      // (KServe's extensions: model repository, logging, trace, shared memory).
      .control_paths = {"/release_memory", "/resume_memory", "/update_weights*",
                        "/v2/cudasharedmemory", "/v2/logging", "/v2/repository",
                        "/v2/systemsharedmemory", "/v2/trace"},
      .status_paths = {"/cluster_info", "/energy_metrics", "/health", "/health_generate",
                       "/kv_cache_events", "/metrics", "/perf_metrics", "/prometheus/metrics",
                       "/server_info", "/steady_clock_offset", "/v2/health", "/version"},
      // Same file: no path shows whether the engine is at rest.
      .rest_paths = {"/release_memory"},
      .wake_paths = {"/resume_memory"},
      // Updated with each iteration's statistics.
      .gauge_refresh = Duration{1'000},
      // Same file: TERM ends the web server, whose last step shuts the engine down. Its workers are
      // MPI processes; those that outlive the server are found through /proc.
      .stop_signal = "SIGTERM",
  };
}

/// A worker of NVIDIA Dynamo (python -m dynamo.vllm and others). Its HTTP server gets no requests
/// for work: those come over Dynamo's own transport from a frontend in another pod.
EnginePreset dynamo_preset() {
  return {
      .kind = EngineKind::dynamo,
      .name = "dynamo",
      // lib/runtime/src/config.rs: off until DYN_SYSTEM_PORT is set; 8081 is what Dynamo's own
      // examples and its operator set.
      .address = {"127.0.0.1", 8081},
      // lib/runtime/src/system_status_server.rs: 503 until its endpoints are healthy, and again
      // from the moment it shuts down.
      .health_path = "/health",
      .metrics_path = "/metrics",
      // lib/runtime/src/pipeline/network/ingress/push_handler.rs: it rises when a request is
      // accepted and falls when its last answer is sent. There is one series for each endpoint.
      .running_gauge = "dynamo_component_inflight_requests",
      .waiting_gauge = "",
      .tokens_counter = "",
      .running_is_accepted = true,
      .kv_usage_gauge = "",
      .load_path = "",
      .completions_path = "",
      // system_status_server.rs: adapters, and routes that the engine adds below /engine.
      .control_paths = {"/engine", "/v1/loras"},
      .status_paths = {"/health", "/live", "/metadata", "/metrics"},
      // components/src/dynamo/common/utils/graceful_shutdown.py: on TERM it leaves its registry,
      // continues for DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS (5), then cuts running requests.
      .stop_signal = "SIGTERM",
  };
}

/// Adds the paths of all known servers, because a custom engine may be any of them.
void add_all_paths(EnginePreset& custom, std::initializer_list<EnginePreset> known) {
  for (EnginePreset const& preset : known) {
    custom.control_paths.insert(custom.control_paths.end(), preset.control_paths.begin(),
                                preset.control_paths.end());
    custom.status_paths.insert(custom.status_paths.end(), preset.status_paths.begin(),
                               preset.status_paths.end());
    custom.rest_paths.insert(custom.rest_paths.end(), preset.rest_paths.begin(),
                             preset.rest_paths.end());
    custom.wake_paths.insert(custom.wake_paths.end(), preset.wake_paths.begin(),
                             preset.wake_paths.end());
  }
}

EnginePreset custom_preset() {
  EnginePreset preset{
      .kind = EngineKind::custom,
      .name = "custom",
      // The most common address of an OpenAI-compatible server; only the ingress uses it.
      .address = {"127.0.0.1", 8000},
      .health_path = "",
      .metrics_path = "",
      .running_gauge = "",
      .waiting_gauge = "",
      .tokens_counter = "",
      .kv_usage_gauge = "",
      .load_path = "",
      .completions_path = "",
  };
  add_all_paths(preset, {vllm_preset(), sglang_preset(), trtllm_preset(), dynamo_preset()});
  return preset;
}

/// In the order of EngineKind.
std::array<EnginePreset, 5> const& presets() {
  static std::array<EnginePreset, 5> const kPresets{vllm_preset(), sglang_preset(), trtllm_preset(),
                                                    dynamo_preset(), custom_preset()};
  return kPresets;
}

/// The engine's base URL without a trailing slash.
std::string base_url(Config const& config, Address const& upstream) {
  std::string url = config.engine.url.value_or("http://" + to_text(upstream));
  while (url.ends_with('/')) {
    url.pop_back();
  }
  return url;
}

std::vector<HealthCheck> preset_checks(Config const& config, EnginePreset const& preset,
                                       Address const& upstream) {
  HealthCheck check;
  check.name = "engine";
  if (!preset.health_path.empty()) {
    check.kind = HttpCheck{base_url(config, upstream) + std::string(preset.health_path)};
    return {check};
  }
  if (std::optional<Url> const url = parse_url(config.engine.url.value_or(""))) {
    check.kind = TcpCheck{url->address};
    return {check};
  }
  if (config.ingress.enabled && !parse_unix(config.ingress.upstream.value_or(""))) {
    check.kind = TcpCheck{upstream};
    return {check};
  }
  return {};
}

std::string resolve_metrics_url(Config const& config, EnginePreset const& preset,
                                Address const& upstream) {
  if (config.engine.metrics.url) {
    return *config.engine.metrics.url;
  }
  return preset.metrics_path.empty()
             ? std::string()
             : base_url(config, upstream) + std::string(preset.metrics_path);
}

std::optional<EngineGauges> resolve_gauges(Config const& config, EnginePreset const& preset,
                                           Address const& upstream, std::string const& url) {
  EngineMetrics const& set = config.engine.metrics;
  EngineGauges gauges;
  gauges.url = url;
  gauges.running = set.running.value_or(std::string(preset.running_gauge));
  gauges.waiting = set.waiting.value_or(std::string(preset.waiting_gauge));
  gauges.tokens = set.tokens.value_or(std::string(preset.tokens_counter));
  gauges.tokens_are_live = set.tokens ? true : preset.tokens_are_live;
  gauges.kv_usage = set.kv_usage.value_or(std::string(preset.kv_usage_gauge));
  gauges.rank_label = preset.rank_label;
  gauges.running_is_load = preset.running_is_accepted && !set.running;
  gauges.load_counts = set.load_tracking || gauges.running_is_load;
  gauges.refresh = set.refresh.value_or(preset.gauge_refresh);
  if (gauges.url.empty() || gauges.running.empty()) {
    return std::nullopt;
  }
  if (!preset.load_path.empty()) {
    gauges.load_url = base_url(config, upstream) + std::string(preset.load_path);
  }
  gauges.load_url = set.load_url.value_or(gauges.load_url);
  return gauges;
}

/// The URL of the model list that belongs to the completions at this URL.
std::string models_beside(std::string const& url) {
  std::size_t const chat = url.find("/chat/completions");
  std::size_t const path = url.find('/', url.find("//") + 2);
  std::size_t const end = chat != std::string::npos ? chat : url.rfind('/');
  return path == std::string::npos ? url + "/v1/models" : url.substr(0, end) + "/models";
}

std::optional<TokenProbe> resolve_probe(Config const& config, EnginePreset const& preset,
                                        EngineProfile const& profile) {
  EngineProbe const& set = config.engine.probe;
  bool const has_address = profile.upstream_socket.empty() || config.engine.url;
  bool const is_known = !preset.completions_path.empty() && has_address;
  if ((!set.url && !is_known) || (!set.barrier && !set.canary)) {
    return std::nullopt;
  }
  std::string const base = base_url(config, profile.upstream);
  TokenProbe probe;
  probe.url = set.url.value_or(base + std::string(preset.completions_path));
  probe.models_url = models_beside(probe.url);
  if (has_address) {
    for (auto const& [path, member] : preset.at_rest_paths) {
      probe.at_rest.push_back({base + std::string(path), std::string(member)});
    }
  }
  probe.model = set.model.value_or(config.identity.model);
  probe.rank_header = preset.rank_header;
  probe.refuses_no_rank = preset.refuses_no_rank;
  probe.barrier = set.barrier;
  probe.canary = set.canary;
  return probe;
}

}  // namespace

EnginePreset const& preset_of(EngineKind kind) {
  return presets()[static_cast<std::size_t>(kind)];
}

EngineProfile resolve_engine(Config const& config) {
  EnginePreset const& preset = preset_of(config.engine.kind);
  EngineProfile profile;
  profile.name = preset.name;
  profile.upstream = preset.address;
  std::string const upstream = config.ingress.upstream.value_or("");
  profile.upstream_socket = parse_unix(upstream).value_or("");
  if (std::optional<Address> const address = parse_address(upstream)) {
    profile.upstream = *address;
  } else if (std::optional<Url> const url = parse_url(config.engine.url.value_or(""))) {
    profile.upstream = url->address;
  }
  profile.checks = config.health.checks.value_or(preset_checks(config, preset, profile.upstream));
  std::uint32_t const threshold =
      config.health.failure_threshold.value_or(preset.failure_threshold);
  for (HealthCheck& check : profile.checks) {
    check.failure_threshold = check.failure_threshold.value_or(threshold);
  }
  profile.dead_statuses = config.health.dead_statuses.value_or(preset.dead_statuses);
  profile.stop_signal = config.engine.stop_signal.value_or(std::string(preset.stop_signal));
  profile.rest_grace = config.engine.rest_grace.value_or(profile.rest_grace);
  profile.main_ends_workers = preset.main_ends_workers && !config.engine.rest_grace;
  profile.essential_processes = config.engine.essential_processes.empty()
                                    ? preset.essential_processes
                                    : config.engine.essential_processes;
  profile.metrics_url = resolve_metrics_url(config, preset, profile.upstream);
  profile.gauges = resolve_gauges(config, preset, profile.upstream, profile.metrics_url);
  profile.probe = resolve_probe(config, preset, profile);
  return profile;
}

bool ingress_is_exclusive(Config const& config) {
  if (!config.ingress.enabled) {
    return false;
  }
  EngineProfile const profile = resolve_engine(config);
  bool const is_local = !profile.upstream_socket.empty() || is_loopback(profile.upstream.host);
  return config.ingress.exclusive.value_or(is_local);
}

lifecycle::ShutdownSettings shutdown_settings(Config const& config) {
  lifecycle::ShutdownSettings settings = config.shutdown.budgets;
  settings.events = config.events.nats.url.has_value();
  settings.registries = !config.discovery.empty();
  return settings;
}

std::optional<std::string> resolve_advertise(Config const& config,
                                             std::optional<std::string> const& pod_ip) {
  if (config.identity.advertise) {
    return config.identity.advertise;
  }
  if (!pod_ip || pod_ip->empty()) {
    return std::nullopt;
  }
  std::uint16_t const port =
      config.ingress.enabled ? config.ingress.listen.port : resolve_engine(config).upstream.port;
  bool const is_tls = config.ingress.enabled && config.ingress.tls.cert_file;
  return (is_tls ? "https://" : "http://") + to_text(Address{*pod_ip, port});
}

}  // namespace lastcall::config
