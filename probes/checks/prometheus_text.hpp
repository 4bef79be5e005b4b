// Sums of chosen metrics from a Prometheus text that arrives in pieces.
//
// Rules:
//  1. A metric's value is the sum of all its series: an engine has one for each model and rank.
//     Metrics that were not asked for are skipped unread.
//  2. If a series of a wanted metric cannot be read or is not a count (NaN, infinite, negative),
//     the whole metric has no value: a partial sum would be wrong.
//  3. Memory is bounded by a maximum line length. A longer line is skipped, and the metric that it
//     names has no value. At most kMostValues values of one label are kept.
//
// Pure, no thread rule. Source: the Prometheus text exposition format 0.0.4; OpenMetrics 1.0 where
// engines write it (timestamps, exemplars, `# EOF`).
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::probes {

bool is_metric_name(std::string_view text);

/// The name of the series on a line; nothing if a scraper could not read the line as a series.
std::optional<std::string_view> series_name(std::string_view line);

class PrometheusText {
 public:
  static constexpr std::size_t kLongestLine = 16 * 1024;
  static constexpr std::size_t kMostValues = 1024;

  /// Takes the names of metrics as they appear before `{`, and the label whose values are kept.
  explicit PrometheusText(std::vector<std::string> const& wanted, std::string label = {});

  void take(std::string_view piece);
  /// Ends the text; a last line without a line feed counts.
  void finish();

  /// Nothing if there is no series, or one of them is not a count.
  std::optional<double> sum(std::string_view name) const;
  /// The smallest value among its series; nothing in the same cases as sum().
  std::optional<double> least(std::string_view name) const;
  /// The values that the label has in its series, each once, in the order of the text.
  std::vector<std::string> values(std::string_view name) const;

 private:
  struct Metric {
    std::string name;
    double sum = 0;
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::string> values;
    bool is_seen = false;
    bool is_spoilt = false;
  };

  void take_line(std::string_view line);

  Metric const* find(std::string_view name) const;

  std::vector<Metric> metrics_;
  std::string label_;
  std::string line_;  // the start of a line whose end has not arrived
  bool is_too_long_ = false;
};

}  // namespace lastcall::probes
