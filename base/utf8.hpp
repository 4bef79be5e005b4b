// The encoding of every string on the wire: lengths, checks, code points.
//
// Rule: well-formed means RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
// Header-only: the shim uses it, too. Pure, no thread rule. Source: RFC 3629, section 4.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastcall::utf8 {

constexpr unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}
constexpr bool is_continuation(char c) {
  return (byte_of(c) & 0xC0U) == 0x80U;
}

/// The length of the well-formed sequence at the start of `text`, whose first byte is 0x80 or
/// above; 0 if there is none.
constexpr std::size_t sequence_length(std::string_view text) {
  unsigned char const c0 = byte_of(text[0]);
  if (c0 < 0xC2 || c0 > 0xF4) {
    return 0;
  }
  std::size_t const length = c0 < 0xE0 ? 2 : c0 < 0xF0 ? 3 : 4;
  if (text.size() < length) {
    return 0;
  }
  // The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF.
  unsigned char const c1 = byte_of(text[1]);
  unsigned char const low = c0 == 0xE0 ? 0xA0 : c0 == 0xF0 ? 0x90 : 0x80;
  unsigned char const high = c0 == 0xED ? 0x9F : c0 == 0xF4 ? 0x8F : 0xBF;
  if (c1 < low || c1 > high) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if (!is_continuation(text[i])) {
      return 0;
    }
  }
  return length;
}

constexpr bool is_valid(std::string_view text) {
  while (!text.empty()) {
    std::size_t const length = byte_of(text[0]) < 0x80 ? 1 : sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

/// Appends a code point, which must not be a surrogate, to a text that has push_back().
template <class Out>
void append(Out& out, unsigned code) {
  auto const put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

/// The longest prefix of at most `size` bytes that splits no sequence.
constexpr std::string_view prefix(std::string_view text, std::size_t size) {
  if (text.size() <= size) {
    return text;
  }
  while (size > 0 && is_continuation(text[size])) {
    --size;
  }
  return text.substr(0, size);
}

}  // namespace lastcall::utf8
