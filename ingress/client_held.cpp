// Errors of the engine that are held back until it is known whether they are its death.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"
#include "relay/engine_error.hpp"

namespace lastcall::ingress {

using Response = Exchange::Response;

bool Client::may_hold() const {
  Exchange const& x = *exchange_;
  return x.begun && !x.was_held && !x.is_cut && proxy_.tracker().engine_may_be_dying();
}

HeldError& Client::hold(HeldError::Part part) {
  Exchange& x = *exchange_;
  x.was_held = true;
  x.held = std::make_unique<HeldError>(*this, part, monotonic_now());
  x.held->events_before = x.events.events();
  deadline_.disarm();  // the engine is not waited for, and `until` bounds this
  proxy_.deadlines().arm(x.held->until, Wait::held);
  proxy_.tracker().error_held();
  return *x.held;
}

/// True: `payload`, which was scanned, is held from its error event on.
bool Client::hold_event(std::string_view payload, std::string& wire) {
  Exchange& x = *exchange_;
  relay::EventScanner::Suspect const suspect = *x.events.suspect();
  std::string const before(suspect.begin == 0 ? x.part_of_event : std::string());
  std::string_view const event = payload.substr(suspect.begin, suspect.end - suspect.begin);
  relay::EngineError const error =
      relay::error_of_event(before.empty() ? event : before + std::string(event));
  if (error != relay::EngineError::none) {
    x.outcome = lifecycle::Outcome::error;
  }
  if (error != relay::EngineError::suspect || x.is_torn || !may_hold()) {
    return false;
  }
  if (suspect.begin > 0) {
    emit(x.part_of_event, payload.substr(0, suspect.begin), wire);
    note_event();
  }
  std::string().swap(x.part_of_event);
  HeldError& held = hold(HeldError::Part::events);
  held.events_before = suspect.before;
  held.bytes.append(before).append(payload.substr(suspect.begin));
  return true;
}

void Client::check_passed(std::chrono::milliseconds since) {
  if (exchange_ && exchange_->held && exchange_->held->since <= since) {
    let_through();
  }
}

/// Nobody has said that the engine is dead: what it answered is the answer.
void Client::let_through() {
  std::unique_ptr<HeldError> const held = std::move(exchange_->held);
  held->until.disarm();
  if (held->part == HeldError::Part::answer) {
    response(held->bytes);
  } else {
    std::string& wire = proxy_.wire();
    wire.clear();
    emit(held->bytes, {}, wire);
    if (held->is_last) {
      finish_response(wire);
    }
    responded(wire, true);
  }
  if (!dead_ && upstream_ != nullptr) {
    upstream_->pump();
  }
}

}  // namespace lastcall::ingress
