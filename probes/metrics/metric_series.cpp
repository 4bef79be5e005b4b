#include "probes/metrics/metric_series.hpp"

#include <algorithm>

namespace lastcall::probes {

namespace {

constexpr std::size_t kMaxLabelBytes = 256;

/// How many bytes a UTF-8 sequence with this first byte has; 0 if none begins so.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return 2;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    return 3;
  }
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/// The second byte excludes overlong forms, surrogates and what is above U+10FFFF (RFC 3629).
bool second_byte_fits(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const first = static_cast<unsigned char>(text[i]);
    std::size_t const length = sequence_length(first);
    if (length == 0 || i + length > text.size()) {
      return false;
    }
    for (std::size_t j = 1; j < length; ++j) {
      auto const byte = static_cast<unsigned char>(text[i + j]);
      if ((byte & 0xC0) != 0x80 || (j == 1 && !second_byte_fits(first, byte))) {
        return false;
      }
    }
    i += length;
  }
  return true;
}

namespace {

/// One series that a scraper cannot read would cost it the whole scrape.
bool is_readable(std::string_view value) {
  return value.size() <= kMaxLabelBytes && is_valid_utf8(value);
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
  std::string_view rest = family.labels;
  while (!rest.empty()) {
    auto const end = std::min(rest.find(' '), rest.size());
    auto const label = rest.substr(0, end);
    if (!is_constant(family, label)) {
      names.emplace_back(label);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

}  // namespace lastcall::probes
