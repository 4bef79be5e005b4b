// Writes texts as JSON strings.
//
// Rule: the appended text is one JSON string on one line, whatever the bytes are.
// Pure, no thread rule. Source: RFC 8259, section 7.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::json {

/// Appends `text` in quotes; bytes that are not UTF-8 become U+FFFD.
void append_string(std::string& out, std::string_view text);

}  // namespace lastcall::json
