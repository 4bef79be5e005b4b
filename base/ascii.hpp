// Letters and digits of ASCII, whatever the locale.
//
// Pure, no thread rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::ascii {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
inline std::string lower_text(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  return lowered;
}

/// Compares without regard to case.
constexpr bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace lastcall::ascii
