#include "probes/metrics/request_metrics.hpp"

#include <utility>

#include "core/report.hpp"
#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

namespace {

/// Dynamo's words for why a request has failed; empty for one that has not.
std::string_view error_type_of(lifecycle::Outcome outcome) {
  switch (outcome) {
    case lifecycle::Outcome::completed:
      return "";
    case lifecycle::Outcome::cancelled:
      return "cancelled";
    case lifecycle::Outcome::rejected:
      return "overload";
    case lifecycle::Outcome::migrated:
    case lifecycle::Outcome::error:
    case lifecycle::Outcome::lost:
    case lifecycle::Outcome::engine_dead:
      return "internal";
  }
  return "internal";
}

}  // namespace

RequestMetrics::RequestMetrics(MetricRegistry& registry, ComponentEndpoint component)
    : frontend_rejections_(registry.counter("dynamo_frontend_model_rejection_total",
                                            "model endpoint",
                                            "Requests refused because the worker was at capacity")),
      frontend_requests_(registry.counter("dynamo_frontend_requests_total",
                                          "model endpoint status error_type",
                                          "Requests by outcome, as their users see it")),
      frontend_duration_(registry.histogram("dynamo_frontend_request_duration_seconds", "model",
                                            "Time from a request's start to its end")),
      component_duration_(
          registry.histogram("dynamo_component_request_duration_seconds",
                             "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
                             "Time from a request's start to its end")),
      component_requests_(
          registry.counter("dynamo_component_requests_total",
                           "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
                           "Requests that began")),
      component_in_flight_(
          registry.gauge("dynamo_component_inflight_requests",
                         "dynamo_namespace dynamo_component model worker_id dynamo_endpoint",
                         "Requests in flight")),
      full_(registry.counter("dynamo_rejection_request_total", "",
                             "Requests refused because limit and queue were full")),
      requests_(
          registry.counter("lastcall_requests_total", "endpoint outcome", "Requests by outcome")),
      in_flight_(registry.gauge(
          "lastcall_requests_in_flight", "endpoint",
          "Requests whose last byte is not written and whose abort is not complete")),
      rejections_(
          registry.counter("lastcall_rejections_total", "reason", "Requests refused, by reason")),
      component_(std::move(component)) {}

void RequestMetrics::began(std::string_view endpoint) {
  component_requests_.at({component_.own_name(endpoint)}).Increment();
  component_in_flight_.at({component_.own_name(endpoint)}).Increment();
  in_flight_.at({endpoint}).Increment();
}

void RequestMetrics::ended(std::string_view endpoint, lifecycle::Outcome outcome) {
  component_in_flight_.at({component_.own_name(endpoint)}).Decrement();
  in_flight_.at({endpoint}).Decrement();
  requests_.at({endpoint, lifecycle::name(outcome)}).Increment();
}

void RequestMetrics::rejected(std::string_view model, std::string_view endpoint,
                              lifecycle::RejectedReason reason, Refused how) {
  if (how.begun) {
    component_in_flight_.at({component_.own_name(endpoint)}).Decrement();
    in_flight_.at({endpoint}).Decrement();
  }
  rejections_.at({lifecycle::name(reason)}).Increment();
  requests_.at({endpoint, lifecycle::name(lifecycle::Outcome::rejected)}).Increment();
  if (reason != lifecycle::RejectedReason::draining && !how.from_tier) {
    frontend_rejections_.at({model, endpoint}).Increment();
  }
  if (how.full) {
    full_.at({}).Increment();
  }
}

void RequestMetrics::settled(lifecycle::RequestSettled const& settled) {
  double const took = Seconds(settled.elapsed).count();
  if (settled.begun) {
    component_duration_.at({component_.own_name(settled.endpoint)}, kToFirstByte).Observe(took);
  }
  if (settled.from_tier) {
    return;
  }
  std::string_view const error = error_type_of(settled.outcome);
  frontend_requests_
      .at({settled.model, settled.endpoint, error.empty() ? "success" : "error",
           error.empty() ? "none" : error})
      .Increment();
  if (settled.begun) {
    frontend_duration_.at({settled.model}, kToFirstByte).Observe(took);
  }
}

}  // namespace lastcall::probes
