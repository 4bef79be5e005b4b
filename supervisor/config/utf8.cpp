#include "supervisor/config/utf8.hpp"

#include <cstddef>

namespace lastcall::config {
namespace {

/// Length of the UTF-8 sequence at `at`, 0 where there is none (RFC 3629: no surrogates, no
/// overlong forms, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  auto const continues = [&](std::size_t offset) { return (byte(offset) & 0xC0U) == 0x80U; };
  unsigned const lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF && continues(1)) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF && continues(1) && continues(2)) {
    bool const overlong = lead == 0xE0 && byte(1) < 0xA0;
    bool const surrogate = lead == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4 && continues(1) && continues(2) && continues(3)) {
    bool const overlong = lead == 0xF0 && byte(1) < 0x90;
    bool const too_large = lead == 0xF4 && byte(1) > 0x8F;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

}  // namespace

std::optional<BadByte> find_bad_byte(std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const byte = static_cast<unsigned char>(text[at]);
    std::size_t const length = sequence_length(text, at);
    bool const is_control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    if (length == 0 || is_control) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      std::string const hex{kDigits[byte >> 4U], kDigits[byte & 0xFU]};
      std::string const what = length == 0 ? "invalid UTF-8 (byte 0x" + hex + ")"
                               : byte == 0 ? std::string("a NUL byte")
                                           : "a control character (0x" + hex + ")";
      return BadByte{line, static_cast<int>(at - line_start) + 1, what + ", expected UTF-8 text"};
    }
    at += length;
    if (byte == '\n') {
      ++line;
      line_start = at;
    }
  }
  return std::nullopt;
}

}  // namespace lastcall::config
