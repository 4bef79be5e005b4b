// The answer to a client whose request is refused, fails, or is cut: the same object in all cases.
//
// Rules:
//  1. Before the first byte it is the body of a response with that status; in a stream of events it
//     is the data of a last `error` event. The SDK's middleware sends the same object.
//  2. `retryable` promises that sending the request again, elsewhere or later, is right.
//  3. Its texts are static, because it is passed between threads.
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
  std::chrono::milliseconds retry_after{1'000};  // for those that are retryable
  /// For lack of a place: the number of places, and of requests that run and wait.
  std::optional<std::uint64_t> limit = std::nullopt;
  std::optional<std::uint64_t> count = std::nullopt;
  /// The load by which the engine is busy.
  std::optional<lifecycle::LoadExcess> excess = std::nullopt;
};

Refusal cut_by(lifecycle::CancelReason reason);
/// `overload_status`: the status for lack of a place or because the engine is busy.
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
/// 4xx: `what` is wrong with it.
Refusal bad_request(unsigned status, std::string_view what);
Refusal too_many_connections();
Refusal too_many_of_address();
/// The buffers of all connections have no room for it.
Refusal no_memory();
/// 403: its path controls the engine. `for_operators`: a token or a client
/// certificate would have opened it.
Refusal control_path_closed(bool for_operators);

struct Sent {
  std::string_view request_id;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

/// The object alone, on one line.
void append_error_object(std::string& out, Refusal const& refusal, Sent const& sent);
/// A whole response. `head_only`: it answers a HEAD.
void append_refusal(std::string& out, Refusal const& refusal, Sent const& sent, bool close,
                    bool head_only);
/// `event: error` with the object.
void append_error_event(std::string& out, Refusal const& refusal, Sent const& sent);

}  // namespace lastcall::relay
