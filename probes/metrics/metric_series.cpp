#include "probes/metrics/metric_series.hpp"

#include "base/utf8.hpp"
#include "base/words.hpp"

namespace lastcall::probes {

namespace {

constexpr std::size_t kMaxLabelBytes = 256;

/// Whether a scraper can read the value: one unreadable series would make the whole scrape fail.
bool is_readable(std::string_view value) {
  return value.size() <= kMaxLabelBytes && utf8::is_valid(value);
}

}  // namespace

std::string_view LabelGuard::admit(std::string_view label, std::string_view value) {
  if (value.empty()) {
    return "unknown";
  }
  auto& [values, kept] = places(label);
  if (values.find(value) != values.end()) {
    return value;
  }
  if (values.size() - kept >= most_ || !is_readable(value)) {
    return "other";
  }
  values.emplace(value);
  return value;
}

void LabelGuard::keep(std::string_view label, std::string_view value) {
  auto& [values, kept] = places(label);
  bool const has_place = values.find(value) != values.end();
  if (!has_place && kept < most_ && !value.empty() && is_readable(value)) {
    values.emplace(value);
    ++kept;
  }
}

LabelGuard::Places& LabelGuard::places(std::string_view label) {
  auto const known = seen_.find(label);
  return known != seen_.end() ? known->second : seen_.try_emplace(std::string(label)).first->second;
}

std::vector<std::string> variable_labels(MetricFamily const& family) {
  std::vector<std::string> names;
  for (std::string_view const label : split(family.labels, " ")) {
    if (!is_constant(family, label)) {
      names.emplace_back(label);
    }
  }
  return names;
}

}  // namespace lastcall::probes
