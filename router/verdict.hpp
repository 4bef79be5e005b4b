// Decides what the head of a worker's answer shows about the worker.
//
// Rules:
//  1. A refusal by lastcall names its reason and whether the request may be sent again; whether an
//     engine had begun the request follows from the reason. An engine has begun a request that it
//     refuses with `engine_error`, although the client receives a hint not to repeat it: the router
//     knows what repeating would cost.
//  2. An engine without lastcall, or a proxy in between, reports with 502, 503, 504 or 529 that it
//     cannot serve.
//  3. Any other 5xx means an engine that failed with this request, or a request that fails every
//     engine; a second worker shows which, and it does not count against the first one.
//
// Pure, no thread rule. Source: docs/ingress.md, 'Refusals'; RFC 9110, section 15.6.
#pragma once

#include <cstdint>

#include "relay/http_head.hpp"

namespace lastcall::router {

enum class Verdict : std::uint8_t {
  answer,
  refused,        // an explicit refusal: the request was not begun
  refused_begun,  // an explicit refusal: the request may have been begun
  engine_died,    // an explicit refusal: the request may be the cause
  failing,        // it cannot serve, according to its status alone
  broke,          // by its status, either the worker or the request is at fault
};

inline constexpr unsigned kOkStatus = 200;

Verdict verdict_of(relay::ResponseHead const& head);

}  // namespace lastcall::router
