#include "ingress/counted_request.hpp"

#include <utility>

#include "ingress/proxy_parts.hpp"
#include "relay/priority.hpp"

namespace lastcall::ingress {
namespace {

/// No id is longer than this.
constexpr std::size_t kMaxParent = 256;

}  // namespace

CountedRequest::CountedRequest(ProxyParts& parts, relay::Exchange& exchange,
                               relay::EndpointName const& endpoint)
    : parts_(parts),
      exchange_(exchange),
      counts_(endpoint.counts),
      endpoint_(endpoint.name),
      model_(relay::unescaped(endpoint.model)) {}

bool CountedRequest::is_tracked() const {
  return counts_ && (standing_ == Standing::waits || standing_ == Standing::runs ||
                     standing_ == Standing::left);
}

Delivered CountedRequest::delivered() const {
  Delivered found{.client = asker_.address,
                  .bytes = exchange_.delivery().bytes_sent(),
                  .events = std::nullopt,
                  .tokens = std::nullopt};
  if (exchange_.delivery().is_event_stream()) {
    found.events = exchange_.response().events_sent();
    found.tokens = exchange_.delivery().events().tokens();
  }
  return found;
}

void CountedRequest::describe(relay::RequestHead const& head, std::string_view target,
                              std::string_view client) {
  asker_.address = client;
  began_at_ = parts_.poller.now();
  priority_ = relay::priority_of(head.fields);
  asker_.defers_cancel = parts_.options.defers_cancel(endpoint_);
  streaming_ = target.find("generate_stream") != std::string_view::npos;
  way_ = counts_ ? parts_.requests.draw_way() : 0;
  std::string_view router;
  asker_.is_router = head.fields.count("x-lastcall-router", router) == 1 && router == "1";
  std::string_view parent;
  if (counts_ && head.fields.count("x-lastcall-parent", parent) == 1) {
    asker_.parent = std::make_unique<std::string>(parent.substr(0, kMaxParent));
  }
}

Admission CountedRequest::ask() {
  if (exchange_.request().is_looking()) {
    relay::RequestSide::Wanted wanted = exchange_.request().settle();
    if (model_.empty()) {
      model_ = std::move(wanted.model);
    }
    streaming_ = wanted.stream.value_or(streaming_);
  }
  exchange_.set_streaming(streaming_);
  if (!counts_) {
    standing_ = Standing::passes;
    return {Admission::Kind::admitted, {}};
  }
  serial_ = parts_.requests.next_serial();
  std::string const& model = model_.empty() ? parts_.options.default_model : model_;
  std::string_view const parent =
      asker_.parent ? std::string_view(*asker_.parent) : std::string_view();
  Admission admission = parts_.tracker.begin(
      {exchange_.id(), serial_, endpoint_, model, streaming_, priority_, parent, way_});
  switch (admission.kind) {
    case Admission::Kind::admitted:
      standing_ = Standing::runs;
      break;
    case Admission::Kind::waits:
      standing_ = Standing::waits;
      break;
    case Admission::Kind::refused:
      standing_ = Standing::refused;
      exchange_.set_outcome(lifecycle::Outcome::rejected);
      break;
  }
  return admission;
}

bool CountedRequest::granted() {
  bool const waited = standing_ == Standing::waits;
  standing_ = waited ? Standing::runs : standing_;
  return waited;
}

bool CountedRequest::refused() {
  bool const waited = standing_ == Standing::waits;
  if (waited) {
    standing_ = Standing::refused;  // it was never in flight for the core
    exchange_.set_outcome(lifecycle::Outcome::rejected);
  }
  return waited;
}

void CountedRequest::report(relay::Received const& received) {
  if (!is_tracked()) {
    return;
  }
  Tracker& tracker = parts_.tracker;
  if (received.first_byte) {
    std::string_view served;
    if (exchange_.delivery().is_served() && model_ != parts_.last_served) {
      served = parts_.last_served = model_;
    }
    tracker.first_byte(exchange_.id(), endpoint_, served, parts_.poller.now() - began_at_);
  }
  if (received.gap) {
    tracker.event_gap(endpoint_, *received.gap);
  }
  if (received.holds) {
    tracker.error_held();
  }
  if (received.moved && !received.first_byte) {
    tracker.moved(exchange_.id());
  }
}

void CountedRequest::hand_off(relay::Refusal const& refusal) {
  if (is_tracked() && refusal.retryable) {
    parts_.tracker.handed_off({.id = exchange_.id(),
                               .endpoint = endpoint_,
                               .model = model_.empty() ? parts_.options.default_model : model_,
                               .reason = refusal.reason,
                               .events = exchange_.response().events_sent(),
                               .bytes = exchange_.delivery().bytes_sent()});
  }
}

void CountedRequest::client_gone(lifecycle::CancelMode mode) {
  exchange_.set_outcome(lifecycle::Outcome::cancelled);
  parts_.tracker.client_gone(exchange_.id(), mode);
  standing_ = mode == lifecycle::CancelMode::stop ? Standing::left : standing_;
}

void CountedRequest::end() {
  bool const was_tracked = is_tracked();
  standing_ = Standing::over;
  if (was_tracked) {
    parts_.tracker.ended(exchange_.id(), exchange_.outcome());
  }
  if (counts_) {
    parts_.requests.leave(exchange_.id());
  }
}

}  // namespace lastcall::ingress
