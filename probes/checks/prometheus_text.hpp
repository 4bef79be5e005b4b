// Reads a Prometheus text that arrives in pieces: its lines, the series on a line, and the sums of
// chosen metrics.
//
// Rules:
//  1. A metric's value is the sum of all its series: an engine has one for each model and rank.
//     Metrics that were not asked for are skipped unread.
//  2. If a series of a wanted metric cannot be read or is not a count (NaN, infinite, negative),
//     the whole metric has no value: a partial sum would be wrong.
//  3. Memory is bounded: of a line, kLongestLine bytes are kept. A longer line cannot be read, and
//     the metric that it names has no value. At most kMostValues values of one label are kept.
//
// Pure, no thread rule. Source: the Prometheus text exposition format 0.0.4; OpenMetrics 1.0 where
// engines write it (timestamps, exemplars, `# EOF`).
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::probes {

bool is_metric_name(std::string_view text);

/// A line that is not a comment. It is read no further than it is asked for.
struct SeriesLine {
  std::string_view name;  // what is before `{` or a blank, valid or not
  std::string_view rest;

  /// Nothing if a scraper could not read the line.
  std::optional<double> value() const;
  /// The value if it is a count: finite and not negative.
  std::optional<double> count() const;
  /// The value of a label as it is written; nothing if it is not there.
  std::optional<std::string_view> label(std::string_view wanted) const;
};

SeriesLine series_line(std::string_view line);

/// Divides a text into lines without their ends.
class TextLines {
 public:
  static constexpr std::size_t kLongestLine = 16 * 1024;

  /// `is_too_long`: the line is only the beginning of the one in the text.
  using TakeLine = std::function<void(std::string_view line, bool is_too_long)>;

  void take(std::string_view piece, TakeLine const& take_line);
  /// Ends the text; a last line without a line feed counts.
  void finish(TakeLine const& take_line);

 private:
  std::string line_;  // the start of a line whose end has not arrived
  bool is_too_long_ = false;
};

class PrometheusText {
 public:
  static constexpr std::size_t kMostValues = 1024;

  /// Takes the names of metrics as they appear before `{`, and the label whose values are kept.
  explicit PrometheusText(std::vector<std::string> const& wanted, std::string label = {});

  void take(std::string_view piece);
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

  void take_line(std::string_view line, bool is_too_long);

  Metric const* find(std::string_view name) const;

  std::vector<Metric> metrics_;
  std::string label_;
  TextLines lines_;
};

}  // namespace lastcall::probes
