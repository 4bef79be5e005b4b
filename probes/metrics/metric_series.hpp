// The series of one family, which are found again without allocating.
//
// Invariants:
//  1. A series is made at its first use and kept: the number of its label values is closed or
//     capped.
//  2. Values of open labels go through LabelGuard. For each label name it admits at most
//     kMaxLabelValues values, and as many again that are known to be real; all must be valid UTF-8,
//     not empty and not too long. Any other value is counted as "other", an empty one as "unknown".
//
// Thread rule: one counting thread; the series themselves may be collected from another.
// This header shows prometheus-cpp's types, so it is for the .cpp files of this folder alone.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include "probes/metrics/metric_family.hpp"

namespace lastcall::probes {

/// The texts that may be written as the value of an open label.
class LabelGuard {
 public:
  explicit LabelGuard(std::size_t most) : most_(most) {}
  /// Returns `value` itself, or the word that replaces it.
  std::string_view admit(std::string_view label, std::string_view value);
  /// Reserves a place for a value that is known to be real, so that no flood of others can take it.
  void keep(std::string_view label, std::string_view value);

 private:
  struct Places {
    std::set<std::string, std::less<>> values;
    std::size_t kept = 0;  // how many of them keep() added
  };

  Places& places(std::string_view label);

  std::size_t const most_;
  std::map<std::string, Places, std::less<>> seen_;
};

/// The names in a table entry's `labels` that are not constant.
std::vector<std::string> variable_labels(MetricFamily const& family);

template <typename Metric>
class Series {
 public:
  Series(MetricFamily const& entry, prometheus::Family<Metric>& family, LabelGuard& guard)
      : names_(variable_labels(entry)), family_(family), guard_(guard) {
    key_.reserve(512);
    for (auto const& label : names_) {
      bool open = false;
      for (auto const candidate : kOpenLabels) {
        open = open || candidate == label;
      }
      is_open_.push_back(open);
    }
  }

  /// The series with these label values, in the order of the table; `arguments` are passed on when
  /// it is made.
  template <typename... Arguments>
  Metric& at(std::initializer_list<std::string_view> values, Arguments const&... arguments) {
    key_.clear();
    for (auto const value : values) {
      append(value);
    }
    // If a series with exactly these values exists, the guard has admitted them, and that is final.
    if (auto const found = known_.find(key_); found != known_.end()) {
      return *found->second;
    }
    key_.clear();
    std::size_t i = 0;
    for (auto const value : values) {
      append(is_open_[i] ? guard_.admit(names_[i], value) : value);
      ++i;
    }
    if (auto const found = known_.find(key_); found != known_.end()) {
      return *found->second;
    }
    std::map<std::string, std::string> labels;
    i = 0;
    for (auto const value : values) {
      labels[names_[i]] = is_open_[i] ? guard_.admit(names_[i], value) : value;
      ++i;
    }
    Metric& made = family_.Add(labels, arguments...);
    known_.emplace(key_, &made);
    return made;
  }

  prometheus::Family<Metric>& family() { return family_; }

 private:
  void append(std::string_view value) {
    key_ += value;
    key_ += '\0';
  }

  std::vector<std::string> names_;
  std::vector<bool> is_open_;
  prometheus::Family<Metric>& family_;
  LabelGuard& guard_;
  std::string key_;  // kept for its capacity
  std::unordered_map<std::string, Metric*> known_;
};

class CounterSeries : public Series<prometheus::Counter> {
 public:
  using Series::Series;
};

class GaugeSeries : public Series<prometheus::Gauge> {
 public:
  using Series::Series;
};

class HistogramSeries : public Series<prometheus::Histogram> {
 public:
  using Series::Series;
};

/// A gauge without labels that is set at every step of the loop and changes at few of them.
class LevelSeries {
 public:
  LevelSeries(MetricFamily const& entry, prometheus::Family<prometheus::Gauge>& family,
              LabelGuard& guard)
      : series_(entry, family, guard) {}

  void set(std::size_t value) {
    if (gauge_ == nullptr || last_ != value) {
      gauge_ = gauge_ == nullptr ? &series_.at({}) : gauge_;
      gauge_->Set(static_cast<double>(value));
      last_ = value;
    }
  }

 private:
  Series<prometheus::Gauge> series_;
  prometheus::Gauge* gauge_ = nullptr;
  std::size_t last_ = 0;
};

}  // namespace lastcall::probes
