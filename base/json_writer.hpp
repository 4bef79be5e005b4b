// Texts as JSON strings.
//
// Rule: what is appended is one JSON string on one line, whatever the bytes are.
// Pure, no thread rule. Source: RFC 8259, section 7.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::json {

/// Appends `text` with its quotes; bytes that are no UTF-8 become U+FFFD.
void append_string(std::string& out, std::string_view text);

}  // namespace lastcall::json
