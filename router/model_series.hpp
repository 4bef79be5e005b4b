// The series that every request and every event of a stream counts, by model.
//
// A family of prometheus-cpp makes a new metric, with its labels and its buckets, before it looks
// whether it has one with these labels. Therefore each series is asked for once and kept.
//
// Rules:
//  1. The name of a model is that of one that a worker has announced, or empty, which is counted as
//     "unknown": what is kept here does not grow by what clients send.
//  2. The registry outlives this object and removes none of these series.
//
// Thread rule: router's thread. Source: docs/router.md, 'Metrics'.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace lastcall::router {

/// The value of the label `model`.
std::string label_of(std::string_view model);

class ModelSeries {
 public:
  using Duration = std::chrono::steady_clock::duration;
  struct Ended {
    std::string_view endpoint;
    bool is_stream = false;
    std::string_view error_type;  // empty if it succeeded
  };

  explicit ModelSeries(prometheus::Registry& registry);

  void began(std::string_view model);
  void taken(std::string_view model);
  void first_byte(std::string_view model, Duration took);
  void event_gap(std::string_view model, Duration took);
  void ended(std::string_view model, Ended const& how, Duration took);

 private:
  template <class Metric>
  using Family = prometheus::Family<Metric>;
  struct Count {
    std::string endpoint;
    bool is_stream;
    std::string error_type;
    prometheus::Counter* counter;
  };
  struct Model {
    prometheus::Gauge& inflight;
    prometheus::Gauge& queued;
    prometheus::Histogram& to_first;
    prometheus::Histogram& gaps;
    prometheus::Histogram& duration;
    std::vector<Count> ended;  // few: endpoints by kinds of end
  };

  Model& of(std::string_view model);
  prometheus::Counter& counter_of(Model& series, std::string_view model, Ended const& how);

  Family<prometheus::Counter>& requests_;
  Family<prometheus::Gauge>& inflight_;
  Family<prometheus::Gauge>& queued_;
  Family<prometheus::Histogram>& duration_;
  Family<prometheus::Histogram>& to_first_;
  Family<prometheus::Histogram>& gaps_;
  std::map<std::string, Model, std::less<>> models_;  // by name; "" is unknown
};

}  // namespace lastcall::router
