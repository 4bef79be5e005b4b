#include "ingress/current_request.hpp"

#include <utility>

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

CurrentRequest::CurrentRequest(ClientParts& parts, RequestOwner& owner, ClientPeer peer)
    : parts_(parts), owner_(owner), peer_(std::move(peer)) {}

bool CurrentRequest::is_on_its_way() const {
  return monotonic_time() - peer_.since < kFirstRequest;
}

Found CurrentRequest::begin(std::string_view bytes) {
  relay::TakenHead& taken = parts_.taken;
  Found const found = reader_.read(
      bytes, {.head = parts_.options.max_head, .body = parts_.options.max_body}, taken);
  return found != Found::complete || serve(taken) ? found : Found::refused;
}

/// Returns false if the head is refused.
bool CurrentRequest::serve(relay::TakenHead& taken) {
  TlsSession const* const tls = owner_.connection().socket().tls();
  ControlGate::Decision const control = parts_.control.decide(
      taken.head, taken.destination.target, {.tls = tls, .address = peer_.address});
  if (control.verdict == Verdict::ambiguous) {
    taken.fault = {.status = 400,
                   .what = "the path has a dot segment or a control character: expected neither"};
    return false;
  }
  RequestClient const client{.owner = owner_,
                             .address = peer_.address,
                             .scheme = tls != nullptr ? "https" : "http",
                             .is_proxy = peer_.is_proxy,
                             .place = peer_.place};
  peer_.since = {};
  bool const is_closed = control.verdict != Verdict::open;
  request_ = parts_.maker.make(client, taken, is_closed, control.is_control);
  if (is_closed) {
    request_->refuse(relay::control_path_closed(control.verdict == Verdict::operators_only));
    return true;
  }
  request_->prepare(taken, client);
  if (request_->counts() && parts_.memory.is_tight()) {
    parts_.observer.shed(Scarce::memory);
    request_->refuse(relay::no_memory());
    return true;
  }
  request_->start();
  if (request_ && taken.asked.expects_continue && request_->awaits_body()) {
    owner_.connection().write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

}  // namespace lastcall::ingress
