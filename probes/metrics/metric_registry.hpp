// The metric families of a process: the topics register theirs here, and a scrape collects all.
//
// Invariants:
//  1. A scrape has the families in the order of metric_names.hpp, whatever the order in which the
//     topics register them.
//  2. Constant labels have the identity's values in every family that has such labels.
//  3. The series live here, at places that do not change; what the topics hold are references.
//
// Thread rule: registration comes first, and on one thread; then serialize() may run on another
// thread than the counting. Source: the Prometheus text format 0.0.4.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probes/metrics/metric_family.hpp"
#include "probes/metrics/metric_names.hpp"

namespace lastcall::probes {

// metric_series.hpp has them.
class CounterSeries;
class GaugeSeries;
class HistogramSeries;
class LevelSeries;

/// Distinct values of a label that others choose (model, endpoint, check, registry).
inline constexpr std::size_t kMaxLabelValues = 64;

struct MetricIdentity {
  std::string dynamo_namespace = "dynamo";
  std::string component = "backend";
  std::string endpoint = "generate";  // the engine's name, not the API's name for an endpoint
  std::string model;                  // empty: not given
  std::string worker_id;              // the instance id, in hexadecimal as in Dynamo's keys
  std::string version;
};

class MetricRegistry {
 public:
  explicit MetricRegistry(MetricIdentity const& identity);
  ~MetricRegistry();
  MetricRegistry(MetricRegistry const&) = delete;
  MetricRegistry& operator=(MetricRegistry const&) = delete;

  /// `labels` and `help` as in MetricFamily.
  CounterSeries& counter(FamilyName name, std::string_view labels, std::string_view help);
  GaugeSeries& gauge(FamilyName name, std::string_view labels, std::string_view help);
  LevelSeries& level(FamilyName name, std::string_view labels, std::string_view help);
  HistogramSeries& histogram(FamilyName name, std::string_view labels, std::string_view help);

  /// Reserves a place for a value of an open label that is known to be real.
  void keep(std::string_view label, std::string_view value);

  /// All that are registered.
  std::vector<MetricFamily> const& families() const;
  /// The text of a scrape.
  std::string serialize() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace lastcall::probes
