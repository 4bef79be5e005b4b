// The series of one family, found again without allocating.
//
// Invariants:
//  1. A series is made at its first use and kept: its number of labels is closed or capped.
//  2. Values of open labels pass LabelGuard: at most kMaxLabelValues a label name and as many that
//     are known to be real, valid UTF-8, not empty, not endless. A value that does not pass is
//     counted as "other", or "unknown" if empty.
//
// Thread rule: one counting thread; the series themselves may be collected from another.
// This header is for metrics.cpp alone: it shows prometheus-cpp's types.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <prometheus/family.h>

#include "probes/metrics/metric_table.hpp"

namespace lastcall::probes {

/// The texts that may be written as the value of an open label.
class LabelGuard {
 public:
  explicit LabelGuard(std::size_t most) : most_(most) {}
  /// `value` itself, or the word that stands for it.
  std::string_view admit(std::string_view label, std::string_view value);
  /// A value that is known to be real has a place that no flood of others can take.
  void keep(std::string_view label, std::string_view value);

 private:
  struct Places {
    std::set<std::string, std::less<>> values;
    std::size_t kept = 0;  // of them, by keep()
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

  /// The series of these values, in the order of the table; `arguments` are for its making.
  template <typename... Arguments>
  Metric& at(std::initializer_list<std::string_view> values, Arguments const&... arguments) {
    key_.clear();
    for (auto const value : values) {
      append(value);
    }
    // A series with just these values: they have passed the guard, which lets none go again.
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

}  // namespace lastcall::probes
