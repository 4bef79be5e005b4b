// Dynamo's names for the reasons why a request failed, by what the client received.
//
// Rules:
//  1. A refusal is named after its status, as in Dynamo: 503 means that there is no place, or no
//     worker.
//  2. A request that an engine had is `internal` if it is not answered, whatever the status with
//     which its client is asked to send it again: Dynamo has no such status, and answers 500.
//  3. An answer that has begun and is not whole is `internal`, or `cancelled` if its client left.
//
// Pure, no thread rule. Source: the label error_type of dynamo_frontend_requests_total;
// docs/router.md, 'Metrics'.
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

/// The reasons (X-Lastcall-Reason) and types of refusals of requests that an engine had.
inline constexpr std::array<std::string_view, 4> kLostByEngines{"engine_dead", "migrate",
                                                                "migrated", "grace_timeout"};

/// `why` is the type of the refusal, or its reason; empty if it is not lastcall's.
constexpr ErrorType error_type_of(unsigned status, std::string_view why = {}) {
  for (std::string_view const each : kLostByEngines) {
    if (status >= 500 && why == each) {
      return ErrorType::internal;
    }
  }
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
