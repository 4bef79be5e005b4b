// The bytes that a string holds as they are, in the text of JSON: what is neither a quote, a
// backslash or a control character nor part of a sequence of UTF-8, which has to be checked.
//
// Pure, no thread rule. Source: RFC 8259, section 7.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lastcall::json {

constexpr bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\';
}

/// The first byte from `p` on that is not plain, or `end`. Nearly all bytes of a request and of an
/// event are plain, so they are looked at in blocks.
inline char const* past_plain(char const* p, char const* end) {
  using Block = signed char __attribute__((vector_size(16)));
  Block block;
  for (; end - p >= std::ptrdiff_t{sizeof block}; p += sizeof block) {
    std::memcpy(&block, p, sizeof block);
    auto const others = (block < 0x20) | (block == '"') | (block == '\\');
    auto const [low, high] = std::bit_cast<std::array<std::uint64_t, 2>>(others);
    if constexpr (std::endian::native != std::endian::little) {
      if ((low | high) != 0) {
        break;
      }
    } else if (low != 0) {
      return p + std::countr_zero(low) / 8;
    } else if (high != 0) {
      return p + 8 + std::countr_zero(high) / 8;
    }
  }
  while (p != end && is_plain(*p)) {
    ++p;
  }
  return p;
}

}  // namespace lastcall::json
