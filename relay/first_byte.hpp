// Decides which byte of a response is its first: one that results from the engine's work, not only
// from its server.
//
// Rules:
//  1. A server of streams (Starlette's, which vLLM and SGLang use) sends their head before there is
//     a token. For a stream the first byte of the body counts, for any other answer the head.
//  2. A stream is an answer of type text/event-stream, or one that has no length and answers a
//     request for a stream.
//
// Pure, no thread rule. Source: docs/ingress.md, 'What counts'.
#pragma once

#include "relay/http_head.hpp"

namespace lastcall::relay {

/// Whether whole events can be found in the body, which is the case for a stream of events without
/// a content coding.
bool is_event_stream(ResponseHead const& head);
/// Whether the response begins with the first byte of its body. `is_events`: is_event_stream();
/// `streaming`: whether the request is for a stream.
bool begins_with_its_body(bool is_events, Framing const& framing, bool streaming);

}  // namespace lastcall::relay
