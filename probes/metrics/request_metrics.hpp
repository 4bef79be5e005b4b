// The metrics of requests: how many began, are in flight and ended, how, and after how long.
//
// Rules:
//  1. A request that a tier above relays does not come from a user of ours: only the component's
//     families count it, not the frontend's.
//  2. Dynamo's counters of refusals are about lack of capacity, so they do not include a refusal
//     because of a drain.
//
// Thread rule: see metrics.hpp. Source: Dynamo's metric names and labels; docs/metrics.md.
#pragma once

#include <string_view>

#include "core/action.hpp"
#include "core/vocabulary.hpp"
#include "probes/metrics/component_endpoint.hpp"
#include "probes/metrics/metric_registry.hpp"

namespace lastcall::probes {

class RequestMetrics {
 public:
  RequestMetrics(MetricRegistry& registry, ComponentEndpoint component);

  /// `endpoint` is the name that the engine or the API gives to it.
  void began(std::string_view endpoint);
  /// After a began() of the same endpoint.
  void ended(std::string_view endpoint, lifecycle::Outcome outcome);
  struct Refused {
    bool begun = false;      // after a began(), from the queue
    bool full = false;       // because limit and queue were full
    bool from_tier = false;  // the tier above counts it in the frontend's families
  };
  /// Counts a refusal and its outcome.
  void rejected(std::string_view model, std::string_view endpoint, lifecycle::RejectedReason reason,
                Refused how);
  /// Counts how a request ended and how long it took, in addition to ended() or rejected().
  void settled(lifecycle::RequestSettled const& settled);

 private:
  CounterSeries& frontend_rejections_;
  CounterSeries& frontend_requests_;
  HistogramSeries& frontend_duration_;
  HistogramSeries& component_duration_;
  CounterSeries& component_requests_;
  GaugeSeries& component_in_flight_;
  CounterSeries& full_;
  CounterSeries& requests_;
  GaugeSeries& in_flight_;
  CounterSeries& rejections_;
  ComponentEndpoint const component_;
};

}  // namespace lastcall::probes
