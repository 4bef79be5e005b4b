// Sums of chosen metrics out of a Prometheus text that comes in pieces.
//
// Rules:
//  1. A metric's value is the sum of all its series: an engine has one a model and a rank. Metrics
//     that were not asked for are skipped unread.
//  2. A series of a wanted metric that cannot be read, or that is no count (NaN, infinite,
//     negative), spoils its metric: a part of a sum is no sum.
//  3. Memory is bounded by the longest line; a longer one is skipped, and spoils what it names. The
//     values of one label are kept, at most kMostValues.
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

/// The name of the series that a line holds; nothing where it is none that a scraper could read.
std::optional<std::string_view> series_name(std::string_view line);

class PrometheusText {
 public:
  static constexpr std::size_t kLongestLine = 16 * 1024;
  static constexpr std::size_t kMostValues = 1024;

  /// Names of metrics as they stand before `{`, and the label whose values are kept.
  explicit PrometheusText(std::vector<std::string> const& wanted, std::string label = {});

  void take(std::string_view piece);
  /// The text has ended: a last line without its line feed counts.
  void finish();

  /// Nothing: no series, or one that was no count.
  std::optional<double> sum(std::string_view name) const;
  /// The least of its series; nothing as above.
  std::optional<double> least(std::string_view name) const;
  /// The values that the label has in its series, each once, in their order.
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
  std::string line_;  // the start of one whose end has not come
  bool is_too_long_ = false;
};

}  // namespace lastcall::probes
