#include "supervisor/runtime/settings.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/runtime/registries/registry_factory.hpp"

namespace lastcall::runtime {
namespace {

lifecycle::MigratePolicy policy_of(config::Migrate migrate) {
  switch (migrate) {
    case config::Migrate::at_end:
      return lifecycle::MigratePolicy::at_end;
    case config::Migrate::at_start:
      return lifecycle::MigratePolicy::at_start;
  }
  return lifecycle::MigratePolicy::at_end;
}

lifecycle::AfterStop after_stop_of(config::AfterStop after_stop) {
  switch (after_stop) {
    case config::AfterStop::automatic:
      return lifecycle::AfterStop::automatic;
    case config::AfterStop::rearm:
      return lifecycle::AfterStop::rearm;
    case config::AfterStop::exit:
      return lifecycle::AfterStop::exit;
  }
  return lifecycle::AfterStop::automatic;
}

lifecycle::HealthSettings health_of(config::Config const& config) {
  lifecycle::HealthSettings health;
  for (config::HealthCheck const& check : config::resolve_engine(config).checks) {
    health.checks.push_back({check.name, check.failure_threshold.value_or(2)});
  }
  health.unresponsive_after = config.health.unresponsive_after;
  health.stalled_after = config.health.stalled_after;
  health.startup_timeout = config.health.startup_timeout;
  return health;
}

}  // namespace

lifecycle::AdmissionLimits admission_limits_from(config::Admission const& admission) {
  return {.running = admission.engine_request_limit,
          .waiting = admission.queue_limit,
          .wait_timeout = admission.queue_timeout,
          .first_byte = admission.engine_wait_limit,
          .priorities = admission.priorities};
}

lifecycle::LoadThresholds load_thresholds_from(config::Admission const& admission) {
  lifecycle::LoadThresholds thresholds{.decode_ppm = std::nullopt,
                                       .prefill_tokens = admission.active_prefill_tokens_threshold,
                                       .max_age = admission.load_max_age,
                                       .ranks = admission.ranks};
  if (admission.active_decode_blocks_threshold) {
    thresholds.decode_ppm = lifecycle::millionths(*admission.active_decode_blocks_threshold);
  }
  return thresholds;
}

lifecycle::HealthLimitsChanged health_limits_from(config::Config const& config) {
  lifecycle::HealthSettings const health = health_of(config);
  lifecycle::HealthLimitsChanged limits{.failure_thresholds = {},
                                        .unresponsive_after = health.unresponsive_after,
                                        .stalled_after = health.stalled_after,
                                        .startup_timeout = health.startup_timeout};
  for (lifecycle::CheckSettings const& check : health.checks) {
    limits.failure_thresholds.push_back(check.failure_threshold);
  }
  return limits;
}

std::string_view without_sig(std::string_view signal_name) {
  if (signal_name.starts_with("SIG")) {
    signal_name.remove_prefix(3);
  }
  return signal_name;
}

lifecycle::Settings settings_from(config::Config const& config, config::PodGrace const& grace) {
  lifecycle::Settings settings;
  settings.shutdown = config::shutdown_settings(config);
  settings.pod_grace = grace.value;
  settings.migrate = policy_of(config.shutdown.migrate);
  settings.second_signal = config.shutdown.second_signal == config::SecondSignal::force
                               ? lifecycle::SecondSignal::force
                               : lifecycle::SecondSignal::ignore;
  settings.after_stop = after_stop_of(config.shutdown.after_stop);
  settings.on_exit = config.engine.on_exit == config::OnExit::propagate
                         ? lifecycle::OnExit::propagate
                         : lifecycle::OnExit::fatal;
  settings.lifecycle_hooks = config.lifecycle.enabled;
  settings.health = health_of(config);
  config::EngineProfile const profile = config::resolve_engine(config);
  settings.stop_signal = without_sig(profile.stop_signal);
  settings.rest_grace = profile.rest_grace;
  settings.main_ends_workers = profile.main_ends_workers;
  settings.essential_processes = profile.essential_processes;
  if (profile.gauges) {
    settings.gauge_refresh = profile.gauges->refresh;
    settings.health.tokens_show_stalls = profile.gauges->tokens_are_live;
    settings.load_counts = profile.gauges->load_counts;
  }
  if (profile.probe) {
    settings.token = {.barrier = profile.probe->barrier, .canary = profile.probe->canary};
  }
  settings.events = config.events.nats.url.has_value();
  settings.registries =
      static_cast<std::uint32_t>(config.discovery.size() + (asks_sdks_unnamed(config) ? 1 : 0));
  settings.ingress_is_exclusive = config::ingress_is_exclusive(config);
  settings.cleanup_hooks = !config.cleanup.hooks.empty();
  settings.cleanup_paths = !config.cleanup.paths.empty();
  settings.admission = admission_limits_from(config.admission);
  settings.load = load_thresholds_from(config.admission);
  settings.reconnect_window = config.ipc.reconnect_window;
  settings.peer_requests = config.ipc.max_requests_per_peer;
  settings.peers_requests = config.ipc.max_requests;
  return settings;
}

}  // namespace lastcall::runtime
