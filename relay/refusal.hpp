// The answer to a client whose request is refused, fails, or is cut: the same object in all cases.
//
// Rules:
//  1. Before the first byte it is the body of a response with that status; afterwards, in a stream
//     of events, it is the data of a last `error` event. The SDK's middleware sends the same
//     object.
//  2. `retryable` promises that sending the request again, elsewhere or later, is right.
//  3. Its texts are static, because it is passed from thread to thread.
//
// Pure, no thread rule. Source: docs/ingress.md, 'Refusals'; sdk/python/lastcall/errors.py.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/admission_limits.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::relay {

struct Refusal {
  unsigned status = 503;
  std::string_view type;     // "migrated", "draining", "bad_request", ...
  std::string_view message;  // what happened, as a text
  bool retryable = false;
  std::string_view reason;                       // X-Lastcall-Reason; empty: the type
  std::chrono::milliseconds retry_after{1'000};  // for a refusal that is retryable
  /// If a place is missing: the number of places, and of requests that run and wait.
  std::optional<std::uint64_t> limit = std::nullopt;
  std::optional<std::uint64_t> count = std::nullopt;
  /// The load that makes the engine busy.
  std::optional<lifecycle::LoadExcess> excess = std::nullopt;
};

Refusal cut_by(lifecycle::CancelReason reason);
/// `overload_status`: the status if there is no place or the engine is busy.
Refusal rejected_because(lifecycle::RejectedReason reason, std::chrono::milliseconds retry_after,
                         unsigned overload_status = 503);
/// Refuses because the engine does not answer at present.
Refusal engine_silent(std::chrono::milliseconds retry_after);
/// Refuses because nothing of the request has reached the engine.
Refusal engine_unavailable();
/// The engine's connection ended before the response was complete.
Refusal engine_failed();
/// The engine's bytes could be read in two ways, or not at all.
Refusal malformed_response();
/// `before_first_byte`: the client has nothing of the answer, and the engine no longer has the
/// request.
Refusal timed_out(std::string_view what, bool before_first_byte);
/// 4xx: `what` is wrong with the request.
Refusal bad_request(unsigned status, std::string_view what);
Refusal too_many_connections();
Refusal too_many_of_address();
/// The buffers of all connections have no room for the request.
Refusal no_memory();
/// 403: the path controls the engine. `for_operators`: a token or a client certificate would have
/// opened it.
Refusal control_path_closed(bool for_operators);

struct Sent {
  std::string_view request_id;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

/// Appends the object alone, on one line.
void append_error_object(std::string& out, Refusal const& refusal, Sent const& sent);
/// Appends a whole response. `head_only`: it answers a HEAD.
void append_refusal(std::string& out, Refusal const& refusal, Sent const& sent, bool close,
                    bool head_only);
/// Appends an event `error` with the object as its data.
void append_error_event(std::string& out, Refusal const& refusal, Sent const& sent);

}  // namespace lastcall::relay
