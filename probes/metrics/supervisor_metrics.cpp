#include "probes/metrics/supervisor_metrics.hpp"

#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

SupervisorMetrics::SupervisorMetrics(MetricRegistry& registry)
    : build_info_(
          registry.gauge("lastcall_build_info", "version", "Always 1; the labels name the build")),
      component_uptime_(registry.gauge("dynamo_component_uptime_seconds",
                                       "dynamo_namespace dynamo_component model worker_id",
                                       "Time since the supervisor started")),
      uptime_(registry.gauge("lastcall_uptime_seconds", "", "Time since the supervisor started")),
      heartbeat_age_(registry.gauge("lastcall_loop_heartbeat_age_seconds", "",
                                    "Time since the supervisor's loop last moved")),
      slow_steps_(registry.counter(
          "lastcall_loop_slow_steps_total", "event",
          "Steps of the supervisor's loop, and of threads of the ingress, that took more than 5 "
          "ms, by the event or the kind of socket that they served")) {
  build_info_.at({}).Set(1);
}

void SupervisorMetrics::slow_step(std::string_view event) {
  slow_steps_.at({event}).Increment();
}

void SupervisorMetrics::watch_heartbeat(PublishedState const& state) {
  heartbeat_ = &state;
}

void SupervisorMetrics::before_scrape(std::int64_t now_ms) {
  auto const seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000.0; };
  uptime_.at({}).Set(seconds(now_ms - started_ms_));
  component_uptime_.at({}).Set(seconds(now_ms - started_ms_));
  if (auto const* const heartbeat = heartbeat_.load()) {
    heartbeat_age_.at({}).Set(seconds(heartbeat->since_beat().count()));
  }
}

}  // namespace lastcall::probes
