#include "probes/checks/prometheus_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"
#include "base/parse_number.hpp"

namespace lastcall::probes {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_name_end(char c) {
  return c == '{' || kBlanks.find(c) != std::string_view::npos;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

/// Removes `{label="value",...}`; false if it does not end. A value may contain a `}`.
bool skip_labels(std::string_view& text) {
  bool is_quoted = false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    char const c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == '}' && !is_quoted) {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// The value of a label in `{label="value",...}`, as it is written; nothing if it is not there.
std::optional<std::string_view> label_value(std::string_view text, std::string_view label) {
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of("{, \t"), text.size()));
    std::size_t const equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(equals + 1, 1) != "\"") {
      return std::nullopt;
    }
    std::string_view const name = text.substr(0, equals);
    text.remove_prefix(equals + 2);
    std::size_t end = 0;
    while (end < text.size() && text[end] != '"') {
      end += text[end] == '\\' ? 2 : 1;
    }
    if (name == label) {
      return text.substr(0, end);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.starts_with('}')) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Reads the value of a series from the text after its name; nothing if there is no valid one.
std::optional<double> read_value(std::string_view rest) {
  skip_blanks(rest);
  if (rest.starts_with('{') && !skip_labels(rest)) {
    return std::nullopt;
  }
  skip_blanks(rest);
  std::string_view number = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(number.size());
  if (number.starts_with('+')) {
    number.remove_prefix(1);
  }
  auto const value = parse_number<double>(number);
  if (!value) {
    return std::nullopt;
  }
  // Only a timestamp and an exemplar may follow.
  skip_blanks(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789.eE+-"), rest.size()));
  skip_blanks(rest);
  return rest.empty() || rest.front() == '#' ? value : std::nullopt;
}

std::optional<double> read_count(std::string_view rest) {
  std::optional<double> const value = read_value(rest);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

}  // namespace

bool is_metric_name(std::string_view text) {
  auto const fits = [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == ':'; };
  return !text.empty() && !ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), fits);
}

std::optional<std::string_view> series_name(std::string_view line) {
  auto const name_end = std::find_if(line.begin(), line.end(), is_name_end);
  std::string_view const name = line.substr(0, static_cast<std::size_t>(name_end - line.begin()));
  return is_metric_name(name) && read_value(line.substr(name.size())) ? std::optional(name)
                                                                      : std::nullopt;
}

PrometheusText::PrometheusText(std::vector<std::string> const& wanted, std::string label)
    : label_(std::move(label)) {
  for (std::string const& name : wanted) {
    metrics_.push_back({.name = name});
  }
}

void PrometheusText::take(std::string_view piece) {
  while (!piece.empty()) {
    std::size_t const end = piece.find('\n');
    std::string_view const part = piece.substr(0, end);
    std::size_t const room = kLongestLine - line_.size();
    is_too_long_ = is_too_long_ || part.size() > room;
    line_ += part.substr(0, room);
    if (end == std::string_view::npos) {
      return;
    }
    finish();
    piece.remove_prefix(end + 1);
  }
}

void PrometheusText::finish() {
  take_line(line_);
  line_.clear();
  is_too_long_ = false;
}

void PrometheusText::take_line(std::string_view line) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  skip_blanks(line);
  auto const name_end = std::find_if(line.begin(), line.end(), is_name_end);
  std::string_view const name = line.substr(0, static_cast<std::size_t>(name_end - line.begin()));
  auto const metric = std::find_if(metrics_.begin(), metrics_.end(),
                                   [name](Metric const& m) { return m.name == name; });
  if (name.empty() || metric == metrics_.end()) {
    return;  // a comment, an empty line, or a metric that is not wanted
  }
  std::optional<double> const count =
      is_too_long_ ? std::nullopt : read_count(line.substr(name.size()));
  metric->is_seen = true;
  metric->is_spoilt = metric->is_spoilt || !count;
  metric->sum += count.value_or(0);
  metric->least = std::min(metric->least, count.value_or(0));
  std::string_view labels = line.substr(name.size());
  skip_blanks(labels);
  auto const value =
      !label_.empty() && labels.starts_with('{') ? label_value(labels, label_) : std::nullopt;
  auto& known = metric->values;
  if (value && known.size() < kMostValues &&
      std::find(known.begin(), known.end(), *value) == known.end()) {
    known.emplace_back(*value);
  }
}

PrometheusText::Metric const* PrometheusText::find(std::string_view name) const {
  auto const metric = std::find_if(metrics_.begin(), metrics_.end(),
                                   [name](Metric const& m) { return m.name == name; });
  return metric == metrics_.end() ? nullptr : &*metric;
}

std::optional<double> PrometheusText::sum(std::string_view name) const {
  Metric const* const metric = find(name);
  bool const is_known = metric != nullptr && metric->is_seen && !metric->is_spoilt;
  return is_known ? std::optional(metric->sum) : std::nullopt;
}

std::optional<double> PrometheusText::least(std::string_view name) const {
  return sum(name) ? std::optional(find(name)->least) : std::nullopt;
}

std::vector<std::string> PrometheusText::values(std::string_view name) const {
  Metric const* const metric = find(name);
  return metric == nullptr ? std::vector<std::string>() : metric->values;
}

}  // namespace lastcall::probes
