// The \uXXXX escapes of JSON: hex digits and the halves of surrogate pairs.
//
// Pure, no thread rule. Source: RFC 8259, section 7.
#pragma once

namespace lastcall::json {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr int hex_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Reads four hex digits; the caller has made sure that they are there.
constexpr unsigned hex4(char const* digits) {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value * 16 + static_cast<unsigned>(hex_value(digits[i]));
  }
  return value;
}
constexpr bool is_high_surrogate(unsigned u) {
  return u >= 0xD800 && u < 0xDC00;
}
constexpr bool is_low_surrogate(unsigned u) {
  return u >= 0xDC00 && u < 0xE000;
}

}  // namespace lastcall::json
