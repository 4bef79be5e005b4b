// Parses a text that is a number and nothing else.
//
// Header-only: the core uses it, too. Pure, no thread rule. Source: std::from_chars, which accepts
// no blanks and no plus sign and ignores the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace lastcall {

/// Nothing if the whole text is not a number or the number does not fit into T. `base` applies to
/// integers.
template <typename T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T number{};
  char const* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = std::from_chars(text.data(), end, number);
  } else {
    read = std::from_chars(text.data(), end, number, base);
  }
  return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace lastcall
