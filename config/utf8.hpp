// Whether bytes are text: UTF-8 without control characters.
//
// A configuration that is not text is refused before anything parses it, because yaml-cpp accepts
// invalid UTF-8. Pure values, no thread rule. Source: RFC 3629.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall::config {

struct BadByte {
  int line = 1;  // lines and columns count from 1, columns in bytes
  int column = 1;
  std::string problem;  // "invalid UTF-8 (byte 0xe9), expected UTF-8 text"
};

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The first byte that is not text. Tabs and line ends are text, other control characters are not.
std::optional<BadByte> find_bad_byte(std::string_view text);

/// The first carriage return without a line feed, or byte order mark that is not at the start: both
/// are text, but nobody sees them, and yaml-cpp takes neither for what an editor shows.
std::optional<BadByte> find_unseen(std::string_view text);

}  // namespace lastcall::config
