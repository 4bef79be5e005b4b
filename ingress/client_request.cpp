// What a client sends: heads and bodies.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"
#include "relay/head_writer.hpp"
#include "relay/http_text.hpp"
#include "relay/priority.hpp"

namespace lastcall::ingress {
namespace {

/// A longer body asks for its place and goes on to the engine before it is complete, with `model`
/// and `stream` or without.
constexpr std::size_t kHeldBody = 64 * 1024;
/// An id is no longer than that.
constexpr std::size_t kMaxParent = 256;
/// What the log has of a path.
constexpr std::size_t kMaxLoggedPath = 200;

bool keeps_alive(relay::RequestHead const& head) {
  return head.version == relay::Version::http11 ? !head.connection.has("close")
                                                : head.connection.has("keep-alive");
}

/// An offer of HTTP/2 may be ignored, and is: what would go through it is no request of ours to
/// count, and RFC 9113, 3.1 has given the mechanism up.
bool is_upgrade(relay::RequestHead const& head) {
  std::string_view protocol;
  return head.version == relay::Version::http11 && head.fields.count("upgrade", protocol) == 1 &&
         head.connection.has("upgrade") && !head.fields.lists("upgrade", "h2c");
}

bool is_idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" ||
         method == "DELETE";
}

/// Nothing where it is not there once.
std::string_view wanted_id(relay::RequestHead const& head) {
  std::string_view wanted;
  return head.fields.count("x-request-id", wanted) == 1 ? wanted : std::string_view();
}

}  // namespace

std::size_t Client::request_head(std::span<char> bytes) {
  std::string_view const text(bytes.data(), bytes.size());
  std::size_t const most = proxy_.options().max_head;
  switch (scanner_.scan(text)) {
    case relay::HeadScanner::Found::bad:
      refuse_early(400, "a malformed head");
      return 0;
    case relay::HeadScanner::Found::incomplete:
      if (text.size() > most) {
        bool const is_target = scanner_.length() == 0;
        refuse_early(is_target ? 414 : 431,
                     is_target ? "the target is too long" : "the head is too large");
      }
      return 0;
    case relay::HeadScanner::Found::complete:
      break;
  }
  std::size_t const length = scanner_.length();
  scanner_.reset();
  if (length > most) {
    refuse_early(431, "the head is too large");
    return 0;
  }
  return take_head(text.substr(0, length)) ? length : 0;
}

bool Client::take_head(std::string_view bytes) {
  relay::RequestHead head;
  relay::Framing framing;
  relay::Destination destination;
  relay::HeadFault fault = relay::parse_request_head(bytes, head);
  if (!fault) {
    fault = relay::request_framing(head, framing);
  }
  if (!fault) {
    fault = relay::find_destination(head, destination);
  }
  std::string_view expectation;
  bool const expects = head.fields.count("expect", expectation) > 0;
  if (!fault && expects && !relay::http_text::same(expectation, "100-continue")) {
    fault = {417, "an expectation other than 100-continue"};
  }
  if (!fault && proxy_.options().max_body && framing.length > *proxy_.options().max_body) {
    fault = {413, "the body is too large"};
  }
  relay::ControlPaths::Decision control;
  if (!fault) {
    control = proxy_.control_paths().decide(destination.target);
    if (control.is_ambiguous) {
      fault = {400, "a path with a dot segment"};
    }
  }
  if (fault) {
    refuse_early(fault.status, fault.what, head.method == "HEAD");
    return false;
  }
  exchange_ = std::make_unique<Exchange>(*this, proxy_.waiting_bytes(), proxy_.memory());
  exchange_->request = framing;
  exchange_->request_done = framing.kind == relay::Framing::Kind::none;
  exchange_->version = head.version;
  exchange_->head_only = head.method == "HEAD";
  exchange_->keep_alive = keeps_alive(head);
  exchange_->expects_continue = expects && head.version == relay::Version::http11;
  if (control.access != relay::Access::relay && !may_control(head, destination, control.access)) {
    refuse_control(head, control.access);
    return true;
  }
  describe(head, destination, control.is_control);
  await_request();
  if (exchange_->counts && proxy_.memory().is_tight()) {
    proxy_.tracker().shed(Scarce::memory);
    refuse(relay::no_memory());
    return true;
  }
  if (exchange_->request_done || !exchange_->look) {
    begin();
  }
  if (exchange_ && exchange_->expects_continue && !exchange_->request_done &&
      exchange_->response == Exchange::Response::head) {
    write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

bool Client::may_control(relay::RequestHead const& head, relay::Destination const& destination,
                         relay::Access access) {
  std::string const& token = proxy_.options().control.token;
  std::string_view given;
  bool const is_granted = access == relay::Access::operators && !token.empty() &&
                          head.fields.count("x-lastcall-token", given) == 1 &&
                          relay::same_secret(given, token);
  std::string_view const path = destination.target.substr(0, destination.target.find('?'));
  proxy_.tracker().control_called({.is_granted = is_granted,
                                   .method = head.method,
                                   .path = path.substr(0, kMaxLoggedPath),
                                   .address = address_});
  return is_granted;
}

void Client::refuse_control(relay::RequestHead const& head, relay::Access access) {
  Exchange& x = *exchange_;
  x.id = proxy_.unique_id(wanted_id(head), false);
  refuse(relay::control_path_closed(access == relay::Access::operators &&
                                    !proxy_.options().control.token.empty()));
}

void Client::describe(relay::RequestHead const& head, relay::Destination const& destination,
                      bool is_control) {
  Exchange& x = *exchange_;
  x.began_at = x.awaited_since = monotonic_now();
  x.upgrade = x.request.kind == relay::Framing::Kind::none && is_upgrade(head);
  x.request_left = x.request.length;
  x.is_repeatable = x.request.kind == relay::Framing::Kind::none && is_idempotent(head.method);
  relay::EndpointName const endpoint =
      proxy_.endpoint(head.method, destination.target, x.upgrade, is_control);
  x.counts = endpoint.counts;
  x.endpoint = endpoint.name;
  x.model = relay::unescaped(endpoint.model);
  x.priority = relay::priority_of(head.fields);
  x.defers_cancel = proxy_.defers_cancel(x.endpoint);
  x.streaming = destination.target.find("generate_stream") != std::string_view::npos;
  if (x.counts && x.request.kind != relay::Framing::Kind::none) {
    x.look.emplace();
  }
  std::string_view parent;
  if (x.counts && head.fields.count("x-lastcall-parent", parent) == 1) {
    x.parent = parent.substr(0, kMaxParent);
  }
  x.id = proxy_.unique_id(wanted_id(head), x.counts);
  if (x.counts) {
    proxy_.enter(x.id, *this);
  }
  relay::write_request_head(x.to_engine, head, destination,
                            {.request_id = x.id,
                             .client = address_,
                             .scheme = tls_ ? "https" : "http",
                             .is_proxy = is_proxy_,
                             .keeps_underscores = proxy_.options().keeps_underscores,
                             .upgrade = x.upgrade,
                             .body = x.request});
}

// --- the body ------------------------------------------------------------------------------------

std::size_t Client::request_body(std::span<char> bytes) {
  Exchange& x = *exchange_;
  std::size_t used = 0;
  if (x.response == Exchange::Response::tunnel) {
    x.to_engine.append(bytes.data(), bytes.size());
    used = bytes.size();
  } else if (x.request.kind == relay::Framing::Kind::length) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(x.request_left, bytes.size()));
    x.request_left -= used;
    x.request_done = x.request_left == 0;
    take_body({bytes.data(), used});
  } else {
    relay::ChunkDecoder::Step const step = x.request_chunks.decode(bytes);
    used = step.consumed;
    take_body({bytes.data(), step.payload});
    x.request_done = step.state == relay::ChunkDecoder::State::done;
    if (step.state == relay::ChunkDecoder::State::bad) {
      break_off(relay::bad_request(400, "a malformed chunk"), lifecycle::Outcome::error);
      return 0;
    }
    if (proxy_.options().max_body && x.body_bytes > *proxy_.options().max_body) {
      break_off(relay::bad_request(413, "the body is too large"), lifecycle::Outcome::error);
      return 0;
    }
    if (x.request_done) {
      x.to_engine.append("0\r\n\r\n");
    }
  }
  if (!x.request_done && x.response < Exchange::Response::tunnel && !keeps_up(used)) {
    break_off(relay::bad_request(408, "the body comes too slowly"), lifecycle::Outcome::error);
    return 0;
  }
  if (x.begun && !x.admitted) {
    x.waiting.add(used);
  } else if (!x.begun && x.look) {
    await_request();
    if (x.request_done || x.to_engine.size() >= kHeldBody) {
      begin();
    }
  } else if (upstream_ != nullptr && upstream_->is_connected()) {
    send_request();
    await_response();
  }
  return used;
}

void Client::await_request() {
  Exchange& x = *exchange_;
  proxy_.deadlines().arm(deadline_, Wait::body);
  if (x.awaited_since.count() == 0) {
    x.awaited_since = monotonic_now();
  }
}

/// A place must not be held by who sends a byte now and then: what a body is behind one byte a
/// millisecond adds up to no more than the silence that is allowed. Time in which we did not read
/// is not the client's.
bool Client::keeps_up(std::size_t bytes) {
  Exchange& x = *exchange_;
  auto const limit = proxy_.options().waits[static_cast<std::size_t>(Wait::body)];
  if (x.awaited_since.count() != 0) {
    std::chrono::milliseconds const took =
        monotonic_now() - std::exchange(x.awaited_since, std::chrono::milliseconds{});
    x.behind = std::max<std::chrono::milliseconds>(
        x.behind + took - std::chrono::milliseconds(bytes), std::chrono::milliseconds{});
  }
  return !limit || x.behind <= *limit;
}

void Client::take_body(std::string_view payload) {
  Exchange& x = *exchange_;
  if (payload.empty()) {
    return;
  }
  x.body_bytes += payload.size();
  if (x.look) {
    x.look->feed(payload);
  }
  if (x.request.kind == relay::Framing::Kind::length) {
    x.to_engine.append(payload);
    return;
  }
  std::array<char, 20> size{};
  auto const end = std::to_chars(size.data(), size.data() + size.size(), payload.size(), 16);
  x.to_engine.append(size.data(), end.ptr).append("\r\n").append(payload).append("\r\n");
}

}  // namespace lastcall::ingress
