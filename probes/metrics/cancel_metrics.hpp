// The metrics of cancellation: why requests were cancelled, and how soon the engine confirmed it.
//
// Invariant: each request counts once, even if messages arrive twice; the ledger ensures that.
//
// Thread rule: see metrics.hpp. Source: Dynamo's metric names and labels; docs/metrics.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/vocabulary.hpp"
#include "probes/metrics/component_endpoint.hpp"
#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class CancelMetrics {
 public:
  CancelMetrics(MetricRegistry& registry, ComponentEndpoint component);

  /// `streaming` is absent if it is unknown whether the answer is streamed.
  void client_cancelled(std::string_view model, std::string_view endpoint,
                        std::optional<bool> streaming);
  void signalled(std::string_view endpoint, lifecycle::CancelReason reason);
  void confirmed(lifecycle::CancelReason reason, Seconds took);
  void set_unconfirmed(std::size_t count);
  void set_overdue(std::size_t count);

 private:
  CounterSeries& frontend_cancels_;
  CounterSeries& component_cancels_;
  CounterSeries& cancels_;
  HistogramSeries& confirm_;
  LevelSeries& unconfirmed_;
  GaugeSeries& overdue_;
  ComponentEndpoint const component_;
};

}  // namespace lastcall::probes
