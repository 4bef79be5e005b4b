// Families of the router's metrics, as prometheus-cpp registers them, and the upper bounds of its
// histograms in seconds.
#pragma once

#include <chrono>
#include <type_traits>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace lastcall::router {

inline prometheus::Histogram::BucketBoundaries const kDurations{
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800};
/// For the time between two events of a stream.
inline prometheus::Histogram::BucketBoundaries const kGaps{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

inline double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

template <class Metric>
prometheus::Family<Metric>& family(char const* name, char const* help,
                                   prometheus::Registry& registry) {
  if constexpr (std::is_same_v<Metric, prometheus::Counter>) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  } else if constexpr (std::is_same_v<Metric, prometheus::Gauge>) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  } else {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
}

}  // namespace lastcall::router
