#include <lastcall/errors.hpp>

#include "base/json_writer.hpp"

namespace lastcall {
namespace {

std::string_view message_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::migrated:
      return "this replica is shutting down; send the request again to continue elsewhere";
    case ErrorKind::engine_dead:
      return "the engine failed; send the request again";
    case ErrorKind::draining:
      return "this replica is shutting down and takes no new requests";
    case ErrorKind::overloaded:
      return "Server overloaded: worker at capacity";
    case ErrorKind::cancelled:
      break;
  }
  return "the request was cancelled";
}

}  // namespace

ErrorKind kind_of(Reason cause) {
  switch (cause) {
    case Reason::migrate:
    case Reason::grace_timeout:
      return ErrorKind::migrated;
    case Reason::engine_dead:
      return ErrorKind::engine_dead;
    case Reason::client_disconnect:
    case Reason::control:
    case Reason::connection_lost:
    case Reason::parent:
    case Reason::operator_:
      break;
  }
  return ErrorKind::cancelled;
}

ErrorKind kind_of(Refusal refusal) {
  return refusal == Refusal::draining ? ErrorKind::draining : ErrorKind::overloaded;
}

bool is_retryable(ErrorKind kind) {
  return kind != ErrorKind::cancelled;
}

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::migrated:
      return "migrated";
    case ErrorKind::engine_dead:
      return "engine_dead";
    case ErrorKind::draining:
      return "draining";
    case ErrorKind::overloaded:
      return "overloaded";
    case ErrorKind::cancelled:
      break;
  }
  return "cancelled";
}

std::string error_body(ErrorKind kind, ErrorDetails const& details) {
  constexpr int kClientClosedRequest = 499;
  int const code = is_retryable(kind) ? details.status : kClientClosedRequest;
  std::string out = R"({"error":{"type":")";
  out.append(name(kind)).append(R"(","code":)").append(std::to_string(code));
  out.append(R"(,"message":)");
  json::append_string(out, message_of(kind));
  out.append(R"(,"request_id":)");
  json::append_string(out, details.request_id);
  out.append(R"(,"events_sent":)").append(std::to_string(details.events_sent));
  out.append(R"(,"bytes_sent":)").append(std::to_string(details.bytes_sent));
  out.append(R"(,"retryable":)").append(is_retryable(kind) ? "true" : "false");
  if (!details.reason.empty()) {
    out.append(R"(,"reason":)");
    json::append_string(out, details.reason);
  }
  return out.append("}}");
}

std::string sse_error(ErrorKind kind, ErrorDetails const& details) {
  return "event: error\ndata: " + error_body(kind, details) + "\n\n";
}

}  // namespace lastcall
