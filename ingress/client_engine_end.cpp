// What the end of the engine's connection means for the exchange that it carries.
#include <string>
#include <string_view>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {

using Response = Exchange::Response;
using lifecycle::Outcome;

void Client::engine_ended(bool orderly) {
  if (!exchange_) {
    drop_upstream();
    return;
  }
  Exchange& x = *exchange_;
  if (may_repeat()) {
    repeat();
    return;
  }
  if (x.response == Response::tunnel) {
    drop_upstream();
    x.response = Response::done;
    end_exchange();
  } else if (x.response == Response::body && orderly &&
             x.framing.kind == relay::Framing::Kind::until_close && ends_with_a_line()) {
    ended_by_close();
  } else {
    engine_failed();
  }
}

/// A stream of events that ends in the middle of a line was cut.
bool Client::ends_with_a_line() const {
  return !exchange_->is_event_stream || exchange_->events.is_at_line() || says_done();
}

/// What clients of OpenAI's interface take for the end.
bool Client::says_done() const {
  std::string_view words = exchange_->last_words;
  words = words.substr(0, words.find_last_not_of("\r\n") + 1);
  return words.ends_with("[DONE]");
}

/// An engine that is killed ends its connections in order too. Whether it was is known a moment
/// later; a stream that has not said it is done waits for it.
void Client::ended_by_close() {
  Exchange& x = *exchange_;
  drop_upstream();
  x.awaits_verdict =
      x.begun && x.is_event_stream && !says_done() && proxy_.tracker().engine_may_be_gone();
  if (x.awaits_verdict) {
    proxy_.deadlines().arm(deadline_, Wait::verdict);
  } else {
    finish();
  }
}

/// Nobody has said that the engine is gone.
void Client::engine_lives() {
  if (exchange_->awaits_verdict) {
    finish();
  } else {
    break_off(exchange_->is_malformed ? relay::malformed_response() : relay::engine_failed(),
              Outcome::error);
  }
}

void Client::finish() {
  std::string wire;
  finish_response(wire);
  write(wire);
  if (!dead_ && out_.empty()) {
    end_exchange();
  }
}

/// Its process may be gone, and then the core's word decides what the client is told.
void Client::engine_failed() {
  drop_upstream();
  if (exchange_->begun && proxy_.tracker().engine_may_be_gone()) {
    proxy_.deadlines().arm(deadline_, Wait::verdict);
    return;
  }
  engine_lives();
}

}  // namespace lastcall::ingress
