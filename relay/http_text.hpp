// The alphabets of HTTP/1.1 and small tests of its texts.
//
// Pure, no thread rule. Source: RFC 9110, sections 5.5 and 5.6; RFC 9112, section 3.2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ascii.hpp"

namespace lastcall::relay {

namespace http_text {

using Class = std::uint8_t;
inline constexpr Class kToken = 1;   // a method or a field name
inline constexpr Class kValue = 2;   // a field value: visible, space, tab, obs-text
inline constexpr Class kTarget = 4;  // a request target
inline constexpr Class kHost = 8;    // a host with its port
inline constexpr Class kBlank = 16;  // a space or a tab

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t c = 0x21; c < 0x7f; ++c) {
    classes[c] = kValue | kTarget;
  }
  for (std::size_t c = 0x80; c < 0x100; ++c) {
    classes[c] = kValue;
  }
  classes[' '] = kValue | kBlank;
  classes['\t'] = kValue | kBlank;
  classes['#'] = kValue;  // a fragment is never sent
  for (char const c : std::string_view("!#$%&'*+-.^_`|~0123456789"
                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    classes[static_cast<std::size_t>(c)] |= kToken;
  }
  for (char const c : std::string_view("!$&'()*+,-.:;=[]_~%0123456789"
                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    classes[static_cast<std::size_t>(c)] |= kHost;
  }
  return classes;
}
inline constexpr auto kClasses = make_classes();

constexpr bool is(char c, Class wanted) {
  return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

constexpr bool all(std::string_view text, Class wanted) {
  for (char const c : text) {
    if (!is(c, wanted)) {
      return false;
    }
  }
  return true;
}

// HTTP's names are ASCII, and their case does not matter.
using ascii::lower;
using ascii::same;

/// Returns the text without the spaces and tabs around it.
constexpr std::string_view trimmed(std::string_view text) {
  char const* begin = text.data();
  char const* end = begin + text.size();
  while (begin != end && is(*begin, kBlank)) {
    ++begin;
  }
  while (end != begin && is(end[-1], kBlank)) {
    --end;
  }
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Removes the next element of a comma-separated list from `list`, and returns it.
constexpr std::string_view next_element(std::string_view& list) {
  std::size_t const comma = list.find(',');
  std::string_view const element = trimmed(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return element;
}

constexpr bool list_has(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (same(next_element(list), word)) {
      return true;
    }
  }
  return false;
}

constexpr std::array<std::int8_t, 256> make_hex_digits() {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  constexpr std::string_view kBothCases = "0123456789abcdef0123456789ABCDEF";
  for (std::size_t i = 0; i < kBothCases.size(); ++i) {
    digits[static_cast<std::size_t>(kBothCases[i])] = static_cast<std::int8_t>(i % 16);
  }
  return digits;
}
inline constexpr auto kHexDigits = make_hex_digits();

/// Returns -1 if there is none.
constexpr int hex_digit(char c) {
  return kHexDigits[static_cast<unsigned char>(c)];
}

/// Returns the value of two digits, or a negative number if they are not digits.
constexpr int hex_code(char high, char low) {
  int const first = hex_digit(high);
  int const second = hex_digit(low);
  return (first | second) < 0 ? -1 : first * 16 + second;
}

/// Accepts only digits, at most 18 of them, so that there is no sign, no space and no overflow.
constexpr std::optional<std::uint64_t> parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (char const c : digits) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

}  // namespace http_text
}  // namespace lastcall::relay
