// Writes the chunks of a body.
//
// Rule: an empty payload gives no chunk, because a chunk of size 0 ends the body. Pure, no thread
// rule. Source: RFC 9112, section 7.1.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::relay {

/// Writes one chunk of both parts, one after the other.
inline void append_chunk(std::string& out, std::string_view first, std::string_view second) {
  std::size_t const size = first.size() + second.size();
  if (size == 0) {
    return;
  }
  std::array<char, 20> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16);
  out.append(digits.data(), end.ptr).append("\r\n");
  out.append(first).append(second).append("\r\n");
}

inline void append_last_chunk(std::string& out) {
  out.append("0\r\n\r\n");
}

}  // namespace lastcall::relay
