#include "ingress/current_request.hpp"

#include "base/clock.hpp"
#include "ingress/client_connection.hpp"
#include "ingress/client_parts.hpp"

namespace lastcall::ingress {
namespace {

/// A client that connects sends its request at once, if both ends are well.
constexpr std::chrono::milliseconds kFirstRequest{100};

}  // namespace

using Found = relay::RequestReader::Found;
using Verdict = ControlGate::Verdict;

bool CurrentRequest::is_on_its_way() const {
  return monotonic_time() - peer_.since < kFirstRequest;
}

Found CurrentRequest::begin(std::string_view bytes, ClientParts& parts, RequestOwner& owner) {
  relay::TakenHead& taken = parts.taken;
  Found const found =
      reader_.read(bytes, {.head = parts.options.max_head, .body = parts.options.max_body}, taken);
  return found != Found::complete || serve(parts, owner) ? found : Found::refused;
}

RequestClient CurrentRequest::facts(RequestOwner& owner) const {
  return {.owner = owner,
          .address = peer_.address,
          .scheme = owner.connection().socket().tls() != nullptr ? "https" : "http",
          .is_proxy = peer_.is_proxy,
          .place = peer_.place};
}

/// Returns false if the head is refused.
bool CurrentRequest::serve(ClientParts& parts, RequestOwner& owner) {
  relay::TakenHead& taken = parts.taken;
  TlsSession const* const tls = owner.connection().socket().tls();
  ControlGate::Decision const control = parts.control.decide(
      taken.head, taken.destination.target, {.tls = tls, .address = peer_.address});
  if (control.verdict == Verdict::ambiguous) {
    taken.fault = {.status = 400,
                   .what = "the path has a dot segment or a control character: expected neither"};
    return false;
  }
  RequestClient const client = facts(owner);
  peer_.since = {};
  bool const is_closed = control.verdict != Verdict::open;
  request_ = parts.maker.make(client, taken, is_closed, control.is_control);
  if (is_closed) {
    request_->refuse(relay::control_path_closed(control.verdict == Verdict::operators_only));
    return true;
  }
  request_->prepare(taken, client);
  if (request_->counts() && parts.memory.is_tight()) {
    parts.observer.shed(Scarce::memory);
    request_->refuse(relay::no_memory());
    return true;
  }
  request_->start();
  if (!request_ || !taken.asked.expects_continue || !request_->awaits_body()) {
    return true;
  }
  // With several threads the refusal may be on its way.
  bool const may_be_refused = request_->counts() && parts.departure.is_refusing();
  if (!may_be_refused) {
    owner.connection().write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

}  // namespace lastcall::ingress
