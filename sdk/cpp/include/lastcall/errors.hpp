// The error object for a client whose request was refused or cut. It is the body of an answer, or
// the last server-sent event of a stream.
//
// Rules:
//  1. A cut stream never looks finished: write sse_error() at an event boundary, then close without
//     `[DONE]` and without the final chunk. Before the first byte, answer 503 with error_body().
//  2. The object has the same keys whichever part writes it: lastcall's own proxy, its SDK for
//     Python, or this one.
//
// Pure, no thread rule; C++17. Source: docs/ingress.md; tests/contract/error_events.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lastcall/words.hpp>

namespace lastcall {

/// The `type` of the error object.
enum class ErrorKind : int { migrated, engine_dead, draining, overloaded, cancelled };

/// Makes the error of a cancelled request, from RequestContext::cause().
ErrorKind kind_of(Reason cause);
ErrorKind kind_of(Refusal refusal);
/// Whether the same request should be tried again elsewhere: true for all kinds except `cancelled`.
bool is_retryable(ErrorKind kind);
std::string_view name(ErrorKind kind);

struct ErrorDetails {
  std::string request_id;
  /// The number of events of the answer that the client has received before the error.
  std::uint64_t events_sent = 0;
  std::uint64_t bytes_sent = 0;
  /// The status that the refusal has, or would have had before the first byte. If the request
  /// cannot be retried, 499 is written.
  int status = 503;
  /// name() of the cause or of the refusal; left out of the object if it is empty.
  std::string reason;
};

/// Writes {"error": {"type", "code", "message", "request_id", "events_sent", "bytes_sent",
/// "retryable" [, "reason"]}}.
std::string error_body(ErrorKind kind, ErrorDetails const& details);
/// Writes the same as a whole server-sent event, with the empty line that ends it.
std::string sse_error(ErrorKind kind, ErrorDetails const& details);

}  // namespace lastcall
