// The load above which the workers of a model count as busy: the configured thresholds, and those
// that were set since.
//
// Rules:
//  1. A model uses the row of its name; without one, the row without a name; without that, it has
//     no thresholds and its workers are never busy. Workers that serve any model use the row
//     without a name.
//  2. Values that were set at run time apply to this replica instead of the configuration, until
//     they are set again, a reload brings other thresholds for that model, or the router ends.
//
// Pure, no thread rule. Source: docs/router.md, 'Rejection'.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/admission_limits.hpp"
#include "probes/listener/busy_threshold.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

class BusyThresholds {
 public:
  void configure(std::vector<ThresholdRule> const& rules, Duration max_age);

  lifecycle::LoadThresholds of(std::string_view model) const;
  void set(probes::ThresholdChange const& change);

  static constexpr std::string_view kReplica = "this replica";
  static constexpr std::string_view kAll = "all replicas";
  probes::ThresholdRow row(std::string_view model) const;
  /// Returns the rows of these models, and of all models that have a row of their own.
  std::vector<probes::ThresholdRow> rows(std::vector<std::string> const& models) const;

 private:
  lifecycle::LoadThresholds configured(std::string_view model) const;

  std::map<std::string, lifecycle::LoadThresholds, std::less<>> configured_;
  std::map<std::string, lifecycle::LoadThresholds, std::less<>> set_;
};

}  // namespace lastcall::router
