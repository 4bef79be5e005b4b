// Percent-encoding: a byte as '%' and two hex digits.
//
// Pure, no thread rule. Source: RFC 3986, 2.1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_escape.hpp"

namespace lastcall {

/// `is_plain` decides which characters stay; for '%' it must return false.
template <typename IsPlain>
std::string percent_encoded(std::string_view text, IsPlain const& is_plain) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char const c : text) {
    if (is_plain(c)) {
      out += c;
    } else {
      auto const byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

/// A '%' that is not followed by two hex digits stays.
inline std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int const high = text[i] == '%' && i + 2 < text.size() ? json::hex_value(text[i + 1]) : -1;
    int const low = high < 0 ? -1 : json::hex_value(text[i + 2]);
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace lastcall
