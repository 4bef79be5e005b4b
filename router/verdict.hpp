// What the head of a worker's answer shows about the worker.
//
// Rules:
//  1. A refusal of lastcall's names its reason and whether the request may be sent again; those of
//     requests that an engine had begun are known by their reason. `engine_error` is one of them,
//     although its client is asked not to repeat: the router knows what repeating would cost.
//  2. A bare engine, or a proxy between, reports with 502, 503, 504 or 529 that it cannot serve.
//  3. Any other 5xx is of an engine that broke at this request, or of a request that breaks every
//     engine: a second worker shows which, and the first one is not judged by it.
//
// Pure, no thread rule. Source: docs/ingress.md, 'Refusals'; RFC 9110, section 15.6.
#pragma once

#include <cstdint>

#include "relay/http_head.hpp"

namespace lastcall::router {

enum class Verdict : std::uint8_t {
  answer,
  refused,        // in words: it was not begun
  refused_begun,  // in words: it may have been begun
  engine_died,    // in words, and the request may be why
  failing,        // by its status alone
  broke,          // by its status: the worker's fault or the request's
};

Verdict verdict_of(relay::ResponseHead const& head);

}  // namespace lastcall::router
