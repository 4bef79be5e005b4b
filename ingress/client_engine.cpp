// The way of a request to the engine: its begin, the connection, sending and sending again.
#include <string>
#include <string_view>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {

void Client::begin() {
  Exchange& x = *exchange_;
  x.awaited_since = {};
  if (x.look) {
    if (x.model.empty()) {
      x.model = x.look->model();
    }
    x.streaming = x.look->stream().value_or(*x.streaming);
    x.look.reset();
  }
  if (!x.counts) {
    x.admitted = true;
    connect();
    return;
  }
  x.serial = proxy_.next_serial();
  std::string const& model = x.model.empty() ? proxy_.options().default_model : x.model;
  Admission const admission = proxy_.tracker().begin(
      {x.id, x.serial, x.endpoint, model, x.streaming, x.priority, x.parent});
  switch (admission.kind) {
    case Admission::Kind::admitted:
      x.begun = true;
      x.admitted = true;
      connect();
      return;
    case Admission::Kind::waits:
      x.begun = true;
      deadline_.disarm();
      return;
    case Admission::Kind::refused:
      x.outcome = lifecycle::Outcome::rejected;
      refuse(admission.refusal);
      return;
  }
}

void Client::connect() {
  Exchange& x = *exchange_;
  upstream_ = proxy_.acquire(x.was_repeated);
  if (upstream_ == nullptr) {
    connect_failed();
    return;
  }
  upstream_->carry(*this);
  proxy_.deadlines().arm(x.total, Wait::total);
  if (upstream_->is_connected()) {
    connected();
  } else {
    proxy_.deadlines().arm(deadline_, Wait::connect);
  }
}

void Client::connected() {
  send_request();
  await_response();
}

void Client::connect_failed() {
  proxy_.avoid_address(upstream_ != nullptr ? upstream_->address() : proxy_.address());
  if (++exchange_->failed_addresses < proxy_.options().upstream.size()) {
    drop_upstream();
    connect();
    return;
  }
  break_off(relay::engine_unavailable(), lifecycle::Outcome::error);
}

void Client::engine_takes_more() {
  if (exchange_ && exchange_->to_engine_at < exchange_->to_engine.size()) {
    send_request();
    pass_on_the_end();
    await_response();
  }
  if (!dead_) {
    pump();  // what the client sends may have waited for this
  }
}

void Client::send_request() {
  Exchange& x = *exchange_;
  if (x.request_is_broken || x.to_engine_at == x.to_engine.size()) {
    return;
  }
  bool broken = false;
  std::size_t const taken =
      upstream_->write(std::string_view(x.to_engine).substr(x.to_engine_at), broken);
  x.to_engine_at += taken;
  x.engine_has_some = x.engine_has_some || taken > 0;
  if (broken) {
    if (may_repeat()) {
      repeat();
    } else {
      x.request_is_broken = true;  // it may have answered early: what it says is still read
      x.forget_sent();
    }
    return;
  }
  bool const is_kept = x.is_repeatable && upstream_->was_used() && !x.was_repeated &&
                       x.response == Exchange::Response::head;
  if (x.to_engine_at == x.to_engine.size() && !is_kept) {
    if (x.request_done || x.waiting.has_any()) {
      x.forget_sent();  // an idle stream holds nothing
    } else {
      x.to_engine_at = 0;
      x.to_engine.clear();
    }
  }
}

/// The client of a tunnel has ended it: so does the engine's connection, behind what it said last.
/// Closed with something unread it would be reset, and those words be lost; the engine's own end
/// is waited for, as long as for the end of a client that is told something.
void Client::pass_on_the_end() {
  if (exchange_ && is_ending_tunnel() && exchange_->to_engine_at == exchange_->to_engine.size()) {
    upstream_->end_output();
  }
}

bool Client::is_ending_tunnel() const {
  return exchange_->response == Exchange::Response::tunnel && exchange_->request_done;
}

/// Nothing has come back on a connection from the pool, and sending the request twice is harmless:
/// by its method, or because nothing of it was taken.
bool Client::may_repeat() const {
  Exchange const& x = *exchange_;
  return upstream_ != nullptr && upstream_->was_used() && !x.was_repeated &&
         x.response == Exchange::Response::head && x.head.empty() &&
         (x.is_repeatable || !x.engine_has_some);
}

void Client::repeat() {
  drop_upstream();
  exchange_->was_repeated = true;
  exchange_->to_engine_at = 0;
  connect();
}

/// What the exchange waits for next, from now on: the next part of the request, unless the engine
/// has to take one first, or the engine. A client that has to take something first has its time
/// already.
void Client::await_response() {
  bool const waits_for_it = exchange_ && upstream_ != nullptr && upstream_->is_connected();
  if (!waits_for_it || !out_.empty() || exchange_->held) {
    return;
  }
  Exchange const& x = *exchange_;
  if (is_ending_tunnel() && x.to_engine.empty()) {
    proxy_.deadlines().arm(deadline_, Wait::ending);
  } else if (!x.request_done && x.response < Exchange::Response::tunnel && wants_input()) {
    await_request();
  } else if (x.response <= Exchange::Response::body && !x.has_first_byte) {
    proxy_.deadlines().arm(deadline_, Wait::first_byte);
  } else {
    proxy_.deadlines().arm(deadline_, Wait::idle);
  }
}

void Client::admitted() {
  if (exchange_ && exchange_->begun && !exchange_->admitted) {
    exchange_->admitted = true;
    connect();
    if (!consuming_ && !dead_) {
      pump();  // the rest of a large body; a connection from the pool tells of no room for it
    }
    weigh();
  }
}

void Client::rejected(relay::Refusal const& refusal) {
  if (exchange_ && exchange_->begun && !exchange_->admitted) {
    exchange_->begun = false;  // a refused request was never one of the core's
    exchange_->outcome = lifecycle::Outcome::rejected;
    refuse(refusal);
  }
}

}  // namespace lastcall::ingress
