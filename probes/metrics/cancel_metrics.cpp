#include "probes/metrics/cancel_metrics.hpp"

#include <utility>

#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

CancelMetrics::CancelMetrics(MetricRegistry& registry, ComponentEndpoint component)
    : frontend_cancels_(registry.counter(
          "dynamo_frontend_model_cancellation_total", "model endpoint request_type",
          "Requests whose client disconnected, before or during the response")),
      component_cancels_(
          registry.counter("dynamo_component_cancellation_total",
                           "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
                           "Requests that were cancelled, each counted once")),
      cancels_(registry.counter("lastcall_cancels_total", "reason",
                                "Requests that were cancelled, by reason, each counted once")),
      confirm_(
          registry.histogram("lastcall_cancel_confirm_seconds", "reason",
                             "Time from a request's cancellation to the engine's confirmation")),
      unconfirmed_(
          registry.level("lastcall_cancels_unconfirmed", "",
                         "Requests that were cancelled and that the engine has not confirmed")),
      overdue_(registry.gauge(
          "lastcall_cancels_overdue", "",
          "Requests that were cancelled at least 5 s ago and that the engine has not confirmed")),
      component_(std::move(component)) {}

void CancelMetrics::client_cancelled(std::string_view model, std::string_view endpoint,
                                     std::optional<bool> streaming) {
  char const* const kind = !streaming ? "unknown" : *streaming ? "stream" : "unary";
  frontend_cancels_.at({model, endpoint, kind}).Increment();
}

void CancelMetrics::signalled(std::string_view endpoint, lifecycle::CancelReason reason) {
  component_cancels_.at({component_.own_name(endpoint)}).Increment();
  cancels_.at({lifecycle::name(reason)}).Increment();
}

void CancelMetrics::confirmed(lifecycle::CancelReason reason, Seconds took) {
  confirm_.at({lifecycle::name(reason)}, kFast).Observe(took.count());
}

void CancelMetrics::set_unconfirmed(std::size_t count) {
  unconfirmed_.set(count);
}

void CancelMetrics::set_overdue(std::size_t count) {
  overdue_.at({}).Set(static_cast<double>(count));
}

}  // namespace lastcall::probes
