#include "config/utf8.hpp"

#include <cstddef>

#include "base/utf8.hpp"

namespace lastcall::config {

std::optional<BadByte> find_bad_byte(std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const byte = static_cast<unsigned char>(text[at]);
    std::size_t const length = byte < 0x80 ? 1 : utf8::sequence_length(text.substr(at));
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

std::optional<BadByte> find_unseen(std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    bool const is_return = text[at] == '\r' && text.substr(at + 1, 1) != "\n";
    if (is_return || (at > 0 && text.substr(at).starts_with(kByteOrderMark))) {
      return BadByte{line, static_cast<int>(at - line_start) + 1,
                     is_return ? "a carriage return without a line feed, expected LF or CRLF at "
                                 "the ends of lines"
                               : "a byte order mark (U+FEFF), expected it only at the start"};
    }
    if (text[at] == '\n') {
      ++line;
      line_start = at + 1;
    }
  }
  return std::nullopt;
}

}  // namespace lastcall::config
