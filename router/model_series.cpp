#include "router/model_series.hpp"

#include <algorithm>

#include "router/families.hpp"

namespace lastcall::router {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

}  // namespace

std::string label_of(std::string_view model) {
  return std::string(model.empty() ? "unknown" : model);
}

ModelSeries::ModelSeries(prometheus::Registry& registry)
    : requests_(family<Counter>("dynamo_frontend_requests_total",
                                "Requests that have ended, by outcome.", registry)),
      inflight_(family<Gauge>("dynamo_frontend_inflight_requests", "Requests that run at present.",
                              registry)),
      queued_(family<Gauge>("dynamo_frontend_queued_requests",
                            "Requests whose answer has not begun.", registry)),
      duration_(family<Histogram>("dynamo_frontend_request_duration_seconds",
                                  "Time from a request's head to its end.", registry)),
      to_first_(family<Histogram>(
          "dynamo_frontend_time_to_first_token_seconds",
          "Time from a request's head to the first byte of its answer's body.", registry)),
      gaps_(family<Histogram>("dynamo_frontend_inter_token_latency_seconds",
                              "Time between two reads that completed events of a stream.",
                              registry)) {}

ModelSeries::Model& ModelSeries::of(std::string_view model) {
  auto const known = models_.find(model);
  if (known != models_.end()) {
    return known->second;
  }
  prometheus::Labels const labels{{"model", label_of(model)}};
  return models_
      .try_emplace(std::string(model), Model{.inflight = inflight_.Add(labels),
                                             .queued = queued_.Add(labels),
                                             .to_first = to_first_.Add(labels, kDurations),
                                             .gaps = gaps_.Add(labels, kGaps),
                                             .duration = duration_.Add(labels, kDurations),
                                             .ended = {}})
      .first->second;
}

void ModelSeries::began(std::string_view model) {
  Model& series = of(model);
  series.inflight.Increment();
  series.queued.Increment();
}

void ModelSeries::taken(std::string_view model) {
  of(model).queued.Decrement();
}

void ModelSeries::first_byte(std::string_view model, Duration took) {
  of(model).to_first.Observe(seconds(took));
}

void ModelSeries::event_gap(std::string_view model, Duration took) {
  of(model).gaps.Observe(seconds(took));
}

void ModelSeries::ended(std::string_view model, Ended const& how, Duration took) {
  Model& series = of(model);
  series.inflight.Decrement();
  series.duration.Observe(seconds(took));
  counter_of(series, model, how).Increment();
}

Counter& ModelSeries::counter_of(Model& series, std::string_view model, Ended const& how) {
  std::vector<Count>& counts = series.ended;
  auto const known = std::find_if(counts.begin(), counts.end(), [&how](Count const& each) {
    return each.endpoint == how.endpoint && each.is_stream == how.is_stream &&
           each.error_type == how.error_type;
  });
  if (known != counts.end()) {
    return *known->counter;
  }
  Counter& counter = requests_.Add({{"model", label_of(model)},
                                    {"endpoint", std::string(how.endpoint)},
                                    {"request_type", how.is_stream ? "stream" : "unary"},
                                    {"status", how.error_type.empty() ? "success" : "error"},
                                    {"error_type", std::string(how.error_type)}});
  counts.push_back(
      {std::string(how.endpoint), how.is_stream, std::string(how.error_type), &counter});
  return counter;
}

}  // namespace lastcall::router
