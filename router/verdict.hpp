// What the head of a worker's answer shows about the worker.
//
// Rules:
//  1. A refusal of lastcall's names its reason and whether the request may be sent again; those of
//     requests that an engine had begun are known by their reason. `engine_error` is one of them,
//     although its client gets a hint not to repeat: the router knows what repeating would cost.
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
  refused,        // explicit: it was not begun
  refused_begun,  // explicit: it may have been begun
  engine_died,    // explicit: the request may be the cause
  failing,        // by its status alone
  broke,          // by its status: the worker's fault or the request's
};

Verdict verdict_of(relay::ResponseHead const& head);

}  // namespace lastcall::router
