// Requests that are refused because all workers are busy.
//
// Rule: each such request is counted once, whether the router refused it or passed on the last
// worker's answer.
//
// Pure, no thread rule. Source: Dynamo's answer to such a request; docs/router.md, 'Rejection'.
#pragma once

#include <cstdint>

#include "core/admission_limits.hpp"
#include "relay/http_head.hpp"
#include "relay/refusal.hpp"

namespace lastcall::router {

/// `draw` is any number; it spreads the retries of requests that are refused together.
relay::Refusal all_busy(lifecycle::LoadExcess const& excess, std::uint64_t draw);

/// Whether this is the head of a worker's answer that it is full.
bool is_rejection(relay::ResponseHead const& head);

}  // namespace lastcall::router
