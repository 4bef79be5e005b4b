#include "probes/metrics/lifecycle_metrics.hpp"

#include <utility>

#include "core/report.hpp"
#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

LifecycleMetrics::LifecycleMetrics(MetricRegistry& registry)
    : phase_(
          registry.gauge("lastcall_phase", "phase", "1 for the current phase, 0 for the others")),
      phase_duration_(registry.histogram("lastcall_phase_duration_seconds", "phase outcome",
                                         "How long phases of drains and stops took")),
      grace_(registry.gauge(
          "lastcall_grace_seconds", "",
          "Longest duration of a stop: shutdown.grace_period, or less if the pod grants less")),
      ready_(registry.gauge("lastcall_ready", "", "1 while this instance should receive requests")),
      shim_missing_(registry.gauge(
          "lastcall_shim_missing", "",
          "1 while checks pass and no shim is connected: a stop would cut running requests")),
      stops_(registry.counter("lastcall_stops_total", "mode", "Stops that began")),
      deadline_left_(registry.gauge(
          "lastcall_stop_deadline_left_seconds", "",
          "Time left until the deadline of the stop; absent while none is under way")),
      signals_ignored_(registry.counter("lastcall_signals_ignored_total", "signal",
                                        "Stop signals ignored because a stop was under way")) {}

void LifecycleMetrics::set_phase(lifecycle::Phase phase) {
  for (auto const word : lifecycle::vocabulary::kWordsOf<lifecycle::Phase>) {
    phase_.at({word}).Set(word == lifecycle::name(phase) ? 1 : 0);
  }
}

void LifecycleMetrics::phase_ended(lifecycle::Phase phase, lifecycle::PhaseOutcome outcome,
                                   Seconds took) {
  phase_duration_.at({lifecycle::name(phase), lifecycle::name(outcome)}, kSlow)
      .Observe(took.count());
}

void LifecycleMetrics::set_grace(Seconds grace) {
  grace_.at({}).Set(grace.count());
}

void LifecycleMetrics::set_ready(bool ready) {
  ready_.at({}).Set(ready ? 1 : 0);
}

void LifecycleMetrics::set_shim_missing(bool missing) {
  shim_missing_.at({}).Set(missing ? 1 : 0);
}

void LifecycleMetrics::set_stop_deadline(std::optional<std::int64_t> deadline_ms) {
  deadline_ms_ = deadline_ms.value_or(kNoDeadline);
}

void LifecycleMetrics::stop_began(bool fatal) {
  stops_.at({fatal ? "fatal" : "graceful"}).Increment();
}

void LifecycleMetrics::signal_ignored(std::string_view signal) {
  signals_ignored_.at({signal}).Increment();
}

void LifecycleMetrics::before_scrape(std::int64_t now_ms) {
  auto& family = deadline_left_.family();
  auto const deadline = deadline_ms_.load();
  if (deadline != kNoDeadline) {
    family.Add({}).Set(static_cast<double>(deadline - now_ms) / 1000.0);
    shows_deadline_ = true;
  } else if (std::exchange(shows_deadline_, false)) {
    family.Remove(&family.Add({}));  // the series that exists
  }
}

}  // namespace lastcall::probes
