// The encoding of every string on the wire: lengths, checks, code points.
//
// Rule: well-formed means RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
// Pure, no thread rule. Source: RFC 3629, section 4.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::utf8 {

constexpr unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

/// The length of the well-formed sequence at the start of `text`, whose first byte is 0x80 or
/// above; 0 if there is none.
std::size_t sequence_length(std::string_view text);
bool is_valid(std::string_view text);
/// Appends a code point, which must not be a surrogate.
void append(std::string& out, unsigned code);
/// The longest prefix of at most `size` bytes that splits no sequence.
std::string_view prefix(std::string_view text, std::size_t size);

}  // namespace lastcall::utf8
