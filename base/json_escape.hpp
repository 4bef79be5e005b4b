// The escapes in JSON's strings: hex digits, the halves of surrogate pairs, and what they mean.
//
// Header-only: the shim uses it, too. Pure, no thread rule. Source: RFC 8259, section 7.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace lastcall::json {

using ascii::is_digit;

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

/// The meaning of a backslash and this letter, which is not a 'u'.
constexpr char meaning_of(char letter) {
  constexpr std::string_view kLetters = "bfnrt";
  constexpr std::string_view kMeanings = "\b\f\n\r\t";
  std::size_t const at = kLetters.find(letter);
  return at == std::string_view::npos ? letter : kMeanings[at];
}

/// Appends what a valid string stands for; `string` comes without its quotes. `out` has append()
/// and push_back().
template <class Out>
void append_unescaped(Out& out, std::string_view string) {
  while (true) {
    std::size_t const plain = std::min(string.find('\\'), string.size());
    out.append(string.substr(0, plain));
    if (plain == string.size()) {
      return;
    }
    char const letter = string[plain + 1];
    string.remove_prefix(plain + 2);
    if (letter != 'u') {
      out.push_back(meaning_of(letter));
      continue;
    }
    unsigned code = hex4(string.data());
    string.remove_prefix(4);
    if (is_high_surrogate(code)) {
      code = 0x10000 + ((code - 0xD800) << 10U) + (hex4(string.data() + 2) - 0xDC00);
      string.remove_prefix(6);
    }
    utf8::append(out, code);
  }
}

}  // namespace lastcall::json
