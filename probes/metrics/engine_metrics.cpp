#include "probes/metrics/engine_metrics.hpp"

#include "core/report.hpp"
#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

EngineMetrics::EngineMetrics(MetricRegistry& registry)
    : health_(registry.gauge("lastcall_engine_health", "verdict",
                             "1 for the current verdict on the engine, 0 for the others")),
      checks_(registry.counter("lastcall_engine_checks_total", "check result",
                               "Engine checks by result")),
      check_duration_(registry.histogram("lastcall_engine_check_duration_seconds", "check",
                                         "How long engine checks took")),
      metrics_up_(registry.gauge("lastcall_engine_metrics_up", "",
                                 "1 while the engine's own metrics are part of this text; absent "
                                 "without probes.merge_engine_metrics")) {}

void EngineMetrics::set_verdict(lifecycle::Verdict verdict) {
  for (auto const word : lifecycle::vocabulary::kWordsOf<lifecycle::Verdict>) {
    health_.at({word}).Set(word == lifecycle::name(verdict) ? 1 : 0);
  }
}

void EngineMetrics::check_ended(std::string_view check, CheckOutcome const& outcome) {
  checks_.at({check, name(outcome.result)}).Increment();
  check_duration_.at({check}, kFast).Observe(Seconds(outcome.latency).count());
}

void EngineMetrics::set_metrics_up(bool up) {
  metrics_up_.at({}).Set(up ? 1 : 0);
}

}  // namespace lastcall::probes
