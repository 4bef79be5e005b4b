// Base64, as the API of Kubernetes has bytes in JSON.
//
// Pure, no thread rule. Source: RFC 4648, 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall::kube {

std::string base64(std::string_view bytes);
/// Blanks and ends of lines are passed over; nothing where it is empty or no base64.
std::optional<std::string> bytes_of_base64(std::string text);

}  // namespace lastcall::kube
