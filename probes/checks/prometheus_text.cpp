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

}  // namespace

bool is_metric_name(std::string_view text) {
  auto const fits = [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == ':'; };
  return !text.empty() && !ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), fits);
}

std::optional<double> SeriesLine::value() const {
  std::string_view text = rest;
  if (text.starts_with('{') && !skip_labels(text)) {
    return std::nullopt;
  }
  skip_blanks(text);
  std::string_view number = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(number.size());
  if (number.starts_with('+')) {
    number.remove_prefix(1);
  }
  auto const value = parse_number<double>(number);
  if (!value) {
    return std::nullopt;
  }
  // Only a timestamp and an exemplar may follow.
  skip_blanks(text);
  text.remove_prefix(std::min(text.find_first_not_of("0123456789.eE+-"), text.size()));
  skip_blanks(text);
  return text.empty() || text.front() == '#' ? value : std::nullopt;
}

std::optional<double> SeriesLine::count() const {
  std::optional<double> const number = value();
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

std::optional<std::string_view> SeriesLine::label(std::string_view wanted) const {
  std::string_view text = rest.starts_with('{') ? rest : std::string_view();
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of("{, \t"), text.size()));
    std::size_t const equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(equals + 1, 1) != "\"") {
      return std::nullopt;
    }
    std::string_view const label = text.substr(0, equals);
    text.remove_prefix(equals + 2);
    std::size_t end = 0;
    while (end < text.size() && text[end] != '"') {
      end += text[end] == '\\' ? 2 : 1;
    }
    if (label == wanted) {
      return text.substr(0, end);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.starts_with('}')) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

SeriesLine series_line(std::string_view line) {
  auto const end = std::find_if(line.begin(), line.end(), is_name_end);
  std::string_view const name = line.substr(0, static_cast<std::size_t>(end - line.begin()));
  line.remove_prefix(name.size());
  skip_blanks(line);
  return {.name = name, .rest = line};
}

void TextLines::take(std::string_view piece, TakeLine const& take_line) {
  while (!piece.empty()) {
    std::size_t const end = piece.find('\n');
    std::string_view const part = piece.substr(0, end);
    std::size_t const room = kLongestLine - line_.size();
    is_too_long_ = is_too_long_ || part.size() > room;
    line_ += part.substr(0, room);
    if (end == std::string_view::npos) {
      return;
    }
    finish(take_line);
    piece.remove_prefix(end + 1);
  }
}

void TextLines::finish(TakeLine const& take_line) {
  std::string_view line = line_;
  line.remove_suffix(line.ends_with('\r') ? 1 : 0);
  take_line(line, is_too_long_);
  line_.clear();
  is_too_long_ = false;
}

PrometheusText::PrometheusText(std::vector<std::string> const& wanted, std::string label)
    : label_(std::move(label)) {
  for (std::string const& name : wanted) {
    metrics_.push_back({.name = name});
  }
}

void PrometheusText::take(std::string_view piece) {
  lines_.take(piece, [this](std::string_view line, bool cut) { take_line(line, cut); });
}

void PrometheusText::finish() {
  lines_.finish([this](std::string_view line, bool cut) { take_line(line, cut); });
}

void PrometheusText::take_line(std::string_view line, bool is_too_long) {
  skip_blanks(line);
  SeriesLine const series = series_line(line);
  auto const metric = std::find_if(metrics_.begin(), metrics_.end(),
                                   [&](Metric const& m) { return m.name == series.name; });
  if (series.name.empty() || metric == metrics_.end()) {
    return;  // a comment, an empty line, or a metric that is not wanted
  }
  std::optional<double> const count = is_too_long ? std::nullopt : series.count();
  metric->is_seen = true;
  metric->is_spoilt = metric->is_spoilt || !count;
  metric->sum += count.value_or(0);
  metric->least = std::min(metric->least, count.value_or(0));
  auto const value = label_.empty() ? std::nullopt : series.label(label_);
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
