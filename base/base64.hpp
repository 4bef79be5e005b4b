// Base64, as APIs have bytes in JSON.
//
// Pure, no thread rule. Source: RFC 4648, 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall {

std::string base64_encode(std::string_view bytes);
/// Nothing where it is no base64; blanks and ends of lines are not.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace lastcall
