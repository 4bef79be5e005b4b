#include "relay/refusal.hpp"

#include <algorithm>

#include "base/json_writer.hpp"
#include "core/load_monitor.hpp"
#include "relay/status_phrase.hpp"

namespace lastcall::relay {

using lifecycle::CancelReason;
using lifecycle::RejectedReason;

Refusal cut_by(CancelReason reason) {
  switch (reason) {
    case CancelReason::migrate:
    case CancelReason::grace_timeout:
      return {503, "migrated",
              "this replica is shutting down; send the request again to continue elsewhere", true,
              lifecycle::name(reason)};
    case CancelReason::engine_dead:
      return {503, "engine_dead", "the engine failed; send the request again", true,
              lifecycle::name(reason)};
    case CancelReason::client_disconnect:
    case CancelReason::control:
    case CancelReason::connection_lost:
    case CancelReason::parent:
    case CancelReason::operator_:
      return {499, "cancelled", "the request was cancelled", false, lifecycle::name(reason)};
  }
  return {499, "cancelled", "the request was cancelled", false, lifecycle::name(reason)};
}

Refusal rejected_because(RejectedReason reason, std::chrono::milliseconds retry_after,
                         unsigned overload_status) {
  if (reason == RejectedReason::draining) {
    return {503,
            "draining",
            "this replica is shutting down and takes no new requests",
            true,
            lifecycle::name(reason),
            retry_after};
  }
  return {overload_status,         "overloaded", "Server overloaded: worker at capacity", true,
          lifecycle::name(reason), retry_after};
}

Refusal engine_silent(std::chrono::milliseconds retry_after) {
  return {503,
          "overloaded",
          "the engine is unresponsive; send the request to another replica now, or here later",
          true,
          "unresponsive",
          retry_after};
}

Refusal engine_unavailable() {
  return {503, "engine_unavailable", "the engine accepts no connections", true, {}};
}

Refusal engine_failed() {
  return {502,
          "engine_error",
          "the engine ended the connection before its response was complete",
          false,
          {}};
}

Refusal malformed_response() {
  return {502, "engine_error", "the engine's response is not valid HTTP/1.1", false, {}};
}

Refusal timed_out(std::string_view what, bool before_first_byte) {
  return {504, "timeout", what, before_first_byte, {}};
}

Refusal bad_request(unsigned status, std::string_view what) {
  return {status, "bad_request", what, false, {}};
}

Refusal too_many_connections() {
  return {503, "too_many_connections", "this replica has no room for another connection", true, {}};
}

Refusal too_many_of_address() {
  return {503, "too_many_connections",
          "this replica has no room for another connection from this address", true, "address"};
}

Refusal no_memory() {
  return {503, "overloaded", "Server overloaded: no memory for another request", true, "memory"};
}

Refusal control_path_closed(bool for_operators) {
  return {403, "forbidden",
          for_operators ? "this path controls the engine: only operators may use it, with their "
                          "token in X-Lastcall-Token or their client certificate"
                        : "this path controls the engine and is closed here",
          false, "control_path"};
}

namespace {

/// The reason again, for clients that look only into the body.
std::string reason_fields(Refusal const& refusal) {
  std::string fields;
  if (!refusal.reason.empty()) {
    fields.append(R"(,"reason":")").append(refusal.reason).append("\"");
  }
  if (refusal.limit && refusal.count) {
    fields.append(R"(,"limit":)").append(std::to_string(*refusal.limit));
    fields.append(R"(,"count":)").append(std::to_string(*refusal.count));
  }
  return fields;
}

}  // namespace

void append_error_object(std::string& out, Refusal const& refusal, Sent const& sent) {
  out.append(R"({"error":{"type":")").append(refusal.type);
  out.append(R"(","code":)").append(std::to_string(refusal.status));
  out.append(R"(,"message":)");
  if (refusal.excess) {
    json::append_string(
        out, std::string(refusal.message) + " (" + lifecycle::text_of(*refusal.excess) + ")");
  } else {
    json::append_string(out, refusal.message);
  }
  out.append(R"(,"request_id":)");
  json::append_string(out, sent.request_id);
  out.append(R"(,"events_sent":)").append(std::to_string(sent.events));
  out.append(R"(,"bytes_sent":)").append(std::to_string(sent.bytes));
  out.append(R"(,"retryable":)").append(refusal.retryable ? "true" : "false");
  out.append(reason_fields(refusal)).append("}}");
}

void append_refusal(std::string& out, Refusal const& refusal, Sent const& sent, bool close,
                    bool head_only) {
  std::string body;
  append_error_object(body, refusal, sent);
  body += '\n';
  out.append("HTTP/1.1 ").append(std::to_string(refusal.status)).append(" ");
  out.append(phrase_of(refusal.status)).append("\r\nContent-Type: application/json\r\n");
  out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  if (!sent.request_id.empty()) {
    out.append("X-Request-Id: ").append(sent.request_id).append("\r\n");
  }
  out.append("X-Lastcall-Reason: ");
  out.append(refusal.reason.empty() ? refusal.type : refusal.reason).append("\r\n");
  if (refusal.limit && refusal.count) {
    out.append("X-Lastcall-Limit: ").append(std::to_string(*refusal.limit)).append("\r\n");
    out.append("X-Lastcall-Count: ").append(std::to_string(*refusal.count)).append("\r\n");
  }
  if (refusal.retryable) {
    auto const seconds = std::max<std::int64_t>((refusal.retry_after.count() + 999) / 1'000, 1);
    out.append("Retry-After: ").append(std::to_string(seconds)).append("\r\n");
    out.append("retry-after-ms: ").append(std::to_string(refusal.retry_after.count()));
    out.append("\r\n");
  }
  out.append("x-should-retry: ").append(refusal.retryable ? "true\r\n" : "false\r\n");
  if (refusal.status == 405) {
    out.append("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n");
  }
  out.append(close ? "Connection: close\r\n\r\n" : "\r\n");
  if (!head_only) {
    out.append(body);
  }
}

void append_error_event(std::string& out, Refusal const& refusal, Sent const& sent) {
  out.append("event: error\ndata: ");
  append_error_object(out, refusal, sent);
  out.append("\n\n");
}

}  // namespace lastcall::relay
