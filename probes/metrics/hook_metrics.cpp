#include "probes/metrics/hook_metrics.hpp"

#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

HookMetrics::HookMetrics(MetricRegistry& registry)
    : calls_(registry.counter("lastcall_prestop_calls_total", "hook", "preStop calls received")),
      refused_hooks_(registry.counter("lastcall_prestop_refused_total", "",
                                      "Calls of the preStop listener that were refused: without a "
                                      "token, with a wrong one, or from within the pod")),
      refused_calls_(
          registry.counter("lastcall_http_calls_refused_total", "path",
                           "Calls of the probe port that were refused: without a token, with a "
                           "wrong one, or while the supervisor's own cannot be read")),
      disproved_(registry.counter(
          "lastcall_prestop_false_total", "",
          "preStop calls after which the pod serves again, because it was not being deleted")),
      waiting_(registry.gauge("lastcall_prestop_waiting", "",
                              "preStop calls of the engine's container that have not returned")),
      held_(registry.histogram("lastcall_prestop_held_seconds", "",
                               "How long the engine's stop signal was held back")),
      engine_awaited_(registry.gauge("lastcall_engine_awaited", "",
                                     "1 while waiting for another engine, in preStop mode")) {}

void HookMetrics::called(bool engine) {
  calls_.at({engine ? "engine" : "supervisor"}).Increment();
}

void HookMetrics::call_refused(std::string_view path) {
  (path.empty() ? refused_hooks_.at({}) : refused_calls_.at({path})).Increment();
}

void HookMetrics::disproved() {
  disproved_.at({}).Increment();
}

void HookMetrics::set_waiting(std::size_t count) {
  waiting_.at({}).Set(static_cast<double>(count));
}

void HookMetrics::released(Seconds held) {
  held_.at({}, kSlow).Observe(held.count());
}

void HookMetrics::set_engine_awaited(bool awaited) {
  engine_awaited_.at({}).Set(awaited ? 1 : 0);
}

}  // namespace lastcall::probes
