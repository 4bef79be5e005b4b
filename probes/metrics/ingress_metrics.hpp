// The metrics of the ingress: connections, what it refused, and the times of responses.
//
// Types and reasons are words of the ingress' closed sets.
//
// Thread rule: see metrics.hpp. Source: Dynamo's metric names and labels; docs/metrics.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class IngressMetrics {
 public:
  explicit IngressMetrics(MetricRegistry& registry);

  void set_connections(std::size_t clients, std::size_t upstream);
  void set_buffers(std::size_t bytes);
  /// `type` is the type of the error object.
  void refused(std::string_view type);
  /// `reason` names what is scarce.
  void evicted(std::string_view reason);
  void shed(std::string_view reason);
  void control_called(bool is_granted);
  /// `reason` names why the handshake with a client failed.
  void tls_failed(std::string_view reason);
  void first_byte(std::string_view model, std::string_view endpoint, Seconds took);
  void event_gap(std::string_view endpoint, Seconds took);

 private:
  GaugeSeries& connections_;
  GaugeSeries& buffers_;
  CounterSeries& evictions_;
  CounterSeries& sheds_;
  CounterSeries& tls_failures_;
  CounterSeries& control_;
  CounterSeries& refusals_;
  HistogramSeries& event_gap_;
  HistogramSeries& first_byte_;
  HistogramSeries& frontend_first_token_;
};

}  // namespace lastcall::probes
