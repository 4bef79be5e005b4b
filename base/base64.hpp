// Base64, the form in which APIs carry bytes in JSON.
//
// Pure, no thread rule. Source: RFC 4648, 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall {

std::string base64_encode(std::string_view bytes);
/// Nothing if `text` is not base64; blanks and line ends are not allowed in it.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace lastcall
