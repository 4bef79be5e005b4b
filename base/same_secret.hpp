// Compares secrets, such as tokens, in a time that does not reveal where they differ.
//
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastcall {

/// Looks at every byte of `expected`, whatever `given` is.
constexpr bool same_secret(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    char const other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(expected[i] ^ other);
  }
  return difference == 0;
}

}  // namespace lastcall
