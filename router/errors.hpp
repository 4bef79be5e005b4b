// Dynamo's names for the reasons why a request failed, by the status that the client received.
//
// Pure, no thread rule. Source: the label error_type of dynamo_frontend_requests_total.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::router {

enum class ErrorType : std::uint8_t {
  none,
  validation,
  not_found,
  overload,
  internal,
  cancelled,
  not_implemented,
};

/// The label; empty if it is not an error.
constexpr std::string_view name(ErrorType type) {
  constexpr std::array<std::string_view, 7> kNames{
      "", "validation", "not_found", "overload", "internal", "cancelled", "not_implemented"};
  return kNames[static_cast<std::size_t>(type)];
}

constexpr ErrorType error_type_of(unsigned status) {
  if (status == 429 || status == 503 || status == 529) {
    return ErrorType::overload;
  }
  if (status == 501) {
    return ErrorType::not_implemented;
  }
  if (status >= 500) {
    return ErrorType::internal;
  }
  if (status == 404) {
    return ErrorType::not_found;
  }
  return status >= 400 ? ErrorType::validation : ErrorType::none;
}

}  // namespace lastcall::router
