// What the head of a worker's answer says about the worker.
//
// Rules:
//  1. A refusal of lastcall's names its reason and whether the request may be sent again; those of
//     requests that an engine had begun are known by their reason.
//  2. A bare engine, or a proxy between, says with 502, 503, 504 or 529 that it cannot serve. A
//     500 is an answer: it may be the request's fault, which every worker would have again.
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
  failing,        // by its status alone
};

Verdict verdict_of(relay::ResponseHead const& head);

}  // namespace lastcall::router
