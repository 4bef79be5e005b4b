// Dynamo's words for why a request has failed, by the status that its client got.
//
// Pure, no thread rule. Source: the label error_type of dynamo_frontend_requests_total.
#pragma once

#include <string_view>

namespace lastcall::router {

/// Empty for what is not an error.
constexpr std::string_view error_type_of(unsigned status) {
  if (status == 503 || status == 529) {
    return "overload";
  }
  if (status >= 500) {
    return "internal";
  }
  if (status == 404) {
    return "not_found";
  }
  return status >= 400 ? "validation" : "";
}

}  // namespace lastcall::router
