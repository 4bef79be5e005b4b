#include "probes/metrics/ingress_metrics.hpp"

#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

IngressMetrics::IngressMetrics(MetricRegistry& registry)
    : connections_(registry.gauge("lastcall_ingress_connections", "side",
                                  "Connections of clients and to the engine")),
      buffers_(registry.gauge(
          "lastcall_ingress_buffer_bytes", "",
          "Memory of the buffers of all connections, and of the connections themselves")),
      evictions_(
          registry.counter("lastcall_ingress_evictions_total", "reason",
                           "Connections closed to make room for others, by what was scarce")),
      sheds_(registry.counter(
          "lastcall_ingress_sheds_total", "reason",
          "Connections and requests refused for lack of room, by what was scarce")),
      tls_failures_(registry.counter(
          "lastcall_ingress_tls_failures_total", "reason",
          "TLS handshakes of clients that failed, except those that the client broke off")),
      control_(registry.counter(
          "lastcall_ingress_control_requests_total", "decision",
          "Requests to control paths of the engine that are not open to everybody")),
      refusals_(registry.counter(
          "lastcall_ingress_refusals_total", "type",
          "Requests and connections that the ingress answered itself, by the type of the error")),
      event_gap_(
          registry.histogram("lastcall_ingress_event_gap_seconds", "endpoint",
                             "Time between events of a stream, as they were read from the engine")),
      first_byte_(registry.histogram("lastcall_ingress_time_to_first_byte_seconds", "endpoint",
                                     "Time from a request's head to its response; of a stream, to "
                                     "the first byte of its body")),
      frontend_first_token_(registry.histogram(
          "dynamo_frontend_time_to_first_token_seconds", "model",
          "Time from a request's head to the first byte of its stream, or to its response")) {}

void IngressMetrics::set_connections(std::size_t clients, std::size_t upstream) {
  connections_.at({"client"}).Set(static_cast<double>(clients));
  connections_.at({"upstream"}).Set(static_cast<double>(upstream));
}

void IngressMetrics::set_buffers(std::size_t bytes) {
  buffers_.at({}).Set(static_cast<double>(bytes));
}

void IngressMetrics::refused(std::string_view type) {
  refusals_.at({type}).Increment();
}

void IngressMetrics::evicted(std::string_view reason) {
  evictions_.at({reason}).Increment();
}

void IngressMetrics::shed(std::string_view reason) {
  sheds_.at({reason}).Increment();
}

void IngressMetrics::control_called(bool is_granted) {
  control_.at({is_granted ? "granted" : "refused"}).Increment();
}

void IngressMetrics::tls_failed(std::string_view reason) {
  tls_failures_.at({reason}).Increment();
}

void IngressMetrics::first_byte(std::string_view model, std::string_view endpoint, Seconds took) {
  frontend_first_token_.at({model}, kToFirstByte).Observe(took.count());
  first_byte_.at({endpoint}, kToFirstByte).Observe(took.count());
}

void IngressMetrics::event_gap(std::string_view endpoint, Seconds took) {
  event_gap_.at({endpoint}, kFast).Observe(took.count());
}

}  // namespace lastcall::probes
