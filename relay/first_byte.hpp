// Which byte of a response is its first: one that the engine's work has sent, not its server alone.
//
// Rules:
//  1. A server of streams (Starlette's, which vLLM and SGLang use) sends their head before there is
//     a token. For a stream the first byte of the body counts, for any other answer the head.
//  2. A stream is an answer of type text/event-stream, or one that has no length and answers a
//     request that asked for a stream.
//
// Pure, no thread rule. Source: docs/ingress.md, 'What counts'.
#pragma once

#include "relay/http_head.hpp"

namespace lastcall::relay {

/// Whole events can be distinguished in it: a stream of events without a coding.
bool is_event_stream(ResponseHead const& head);
/// `is_events`: is_event_stream(); `streaming`: what the request asked for.
bool begins_with_its_body(bool is_events, Framing const& framing, bool streaming);

}  // namespace lastcall::relay
