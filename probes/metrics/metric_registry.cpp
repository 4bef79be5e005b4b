#include "probes/metrics/metric_registry.hpp"

#include <array>
#include <iterator>
#include <utility>

#include <prometheus/collectable.h>
#include <prometheus/labels.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "base/utf8.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

struct MetricRegistry::Families {
  template <typename Metric, typename SeriesOfMetric>
  SeriesOfMetric& add(FamilyName name, MetricFamily const& family) {
    auto made = std::make_unique<prometheus::Family<Metric>>(
        std::string(family.name), std::string(family.help), constants(family));
    auto const kept = std::make_shared<SeriesOfMetric>(family, *made, guard);
    by_place[name.place] = std::move(made);
    all.push_back(family);
    series.push_back(kept);
    return *kept;
  }

  prometheus::Labels constants(MetricFamily const& family) const {
    prometheus::Labels labels;
    for (auto const& [name, value] :
         {std::pair{"dynamo_namespace", &identity.dynamo_namespace},
          std::pair{"dynamo_component", &identity.component}, std::pair{"model", &identity.model},
          std::pair{"worker_id", &identity.worker_id}, std::pair{"version", &identity.version}}) {
      if (family.labels.find(name) != std::string_view::npos && is_constant(family, name)) {
        labels[name] = value->empty() ? "unknown" : utf8::is_valid(*value) ? *value : "other";
      }
    }
    return labels;
  }

  MetricIdentity identity;
  LabelGuard guard{kMaxLabelValues};
  std::vector<MetricFamily> all;
  std::array<std::unique_ptr<prometheus::Collectable>, kFamilyNames.size()> by_place;
  std::vector<std::shared_ptr<void>> series;  // of all types
};

MetricRegistry::MetricRegistry(MetricIdentity const& identity)
    : families_(std::make_unique<Families>()) {
  families_->identity = identity;
}

MetricRegistry::~MetricRegistry() = default;

CounterSeries& MetricRegistry::counter(FamilyName name, std::string_view labels,
                                       std::string_view help) {
  return families_->add<prometheus::Counter, CounterSeries>(
      name, {name.text, MetricType::counter, labels, help});
}

GaugeSeries& MetricRegistry::gauge(FamilyName name, std::string_view labels,
                                   std::string_view help) {
  return families_->add<prometheus::Gauge, GaugeSeries>(
      name, {name.text, MetricType::gauge, labels, help});
}

LevelSeries& MetricRegistry::level(FamilyName name, std::string_view labels,
                                   std::string_view help) {
  return families_->add<prometheus::Gauge, LevelSeries>(
      name, {name.text, MetricType::gauge, labels, help});
}

HistogramSeries& MetricRegistry::histogram(FamilyName name, std::string_view labels,
                                           std::string_view help) {
  return families_->add<prometheus::Histogram, HistogramSeries>(
      name, {name.text, MetricType::histogram, labels, help});
}

void MetricRegistry::keep(std::string_view label, std::string_view value) {
  families_->guard.keep(label, value);
}

std::vector<MetricFamily> const& MetricRegistry::families() const {
  return families_->all;
}

std::string MetricRegistry::serialize() const {
  std::vector<prometheus::MetricFamily> collected;
  for (auto const& family : families_->by_place) {
    auto series = family->Collect();
    collected.insert(collected.end(), std::make_move_iterator(series.begin()),
                     std::make_move_iterator(series.end()));
  }
  return prometheus::TextSerializer{}.Serialize(collected);
}

}  // namespace lastcall::probes
