// Numbers and durations as users write them. Strict: the whole text must be the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.hpp"

namespace lastcall::shim {

/// Accepts only decimal digits, and at most 53 bits, which every JSON reader keeps exactly.
constexpr std::optional<std::int64_t> parse_unsigned(std::string_view text) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 53;
  if (text.empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  for (char const c : text) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
    if (value > kLimit) {
      return std::nullopt;
    }
  }
  return value;
}

/// Accepts `60s`, `500ms`, `2m`, `1h`: a whole number and its unit, at most a year.
constexpr std::optional<Duration> parse_duration(std::string_view text) {
  constexpr std::int64_t kYear = std::int64_t{366} * 24 * 3'600'000;
  std::size_t const unit_at = text.find_first_not_of("0123456789");
  if (unit_at == std::string_view::npos) {
    return std::nullopt;
  }
  std::optional<std::int64_t> const count = parse_unsigned(text.substr(0, unit_at));
  std::string_view const unit = text.substr(unit_at);
  std::int64_t const scale = unit == "ms"  ? 1
                             : unit == "s" ? 1'000
                             : unit == "m" ? 60'000
                             : unit == "h" ? 3'600'000
                                           : 0;
  if (!count || scale == 0 || *count > kYear / scale) {
    return std::nullopt;
  }
  return Duration{*count * scale};
}

}  // namespace lastcall::shim
