// The way of a response back to the client.
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "ingress/client_connection.hpp"
#include "ingress/proxy_parts.hpp"
#include "ingress/relayed_request.hpp"

namespace lastcall::ingress {

using lifecycle::Outcome;

bool RelayedRequest::takes_response() const {
  return is(Standing::left) ||
         (client_ != nullptr && client_->connection().is_flushed() && !holds());
}

void RelayedRequest::response(std::span<char> bytes) {
  if (is(Standing::left)) {
    if (exchange_.engine_has_begun(bytes)) {
      end(relay::After::close);
    }
    return;
  }
  if (exchange_.delivery().is_over()) {
    drop_leg();  // the engine sent more than was requested
    return;
  }
  std::string& wire = parts_.wire;
  wire.clear();
  take(exchange_.receive(bytes, parts_.poller.now(), *this, wire), wire);
}

/// `wire` has the bytes for the client.
void RelayedRequest::take(relay::Received const& received, std::string_view wire) {
  if (received.holds) {
    // The engine is not awaited, and a held error has its own deadline.
    client_->connection().wait_for_nothing();
    parts_.deadlines.arm(bound_, Wait::held);
  }
  counted_.report(received);
  if (holds()) {
    client_->connection().write(wire);
    return;
  }
  if (exchange_.delivery().is_over() && leg_ != nullptr) {
    std::exchange(leg_, nullptr)->release(exchange_.leg_is_clean(received));
  }
  client_->connection().write(wire);
  if (client_ == nullptr || !client_->connection().is_flushed()) {
    return;
  }
  if (exchange_.response().is_malformed()) {
    exchange_.response().failed();
    settle_ending();
  } else if (exchange_.delivery().is_over()) {
    end(exchange_.after());
  } else {
    if (exchange_.delivery().state() !=
        relay::DeliveryState::opened) {  // in the state `opened` it waits for that already
      await_next();
    }
    take_early_words();
    notify_of_cut();
  }
}

/// Reads the bytes that the client of a tunnel sent before the tunnel was open.
void RelayedRequest::take_early_words() {
  if (is_tunnel() && client_ != nullptr) {
    client_->connection().read_kept();
  }
}

void RelayedRequest::flushed() {
  if (exchange_.delivery().is_over()) {
    end(exchange_.after());
    return;
  }
  if (exchange_.response().is_malformed() && !holds()) {
    exchange_.response().failed();
    settle_ending();
    return;
  }
  await_next();
  take_early_words();
  notify_of_cut();
  if (leg_ != nullptr) {
    leg_->pump();
  }
}

// --- errors that are held back -------------------------------------------------------------------

void RelayedRequest::check_passed(std::chrono::milliseconds since) {
  if (holds() && exchange_.response().held_back().error()->since <= since) {
    let_through();
  }
}

/// No report states that the engine is dead, so its answer is passed on.
void RelayedRequest::let_through() {
  bound_.disarm();
  std::string& wire = parts_.wire;
  wire.clear();
  take(exchange_.let_through(monotonic_time(), *this, wire), wire);
  if (leg_ != nullptr) {
    leg_->pump();
  }
}

// --- the end of the engine's connection ----------------------------------------------------------

void RelayedRequest::engine_ended(bool orderly) {
  if (is(Standing::left)) {
    end(relay::After::close);
    return;
  }
  if (exchange_.may_repeat(leg_ != nullptr && leg_->was_used())) {
    repeat();
    return;
  }
  drop_leg();
  if (exchange_.response().ended(orderly) == relay::ResponseSide::Ending::tunnel) {
    end(exchange_.after());
  } else {
    settle_ending();
  }
}

/// An engine that is killed ends its connections in order, too. Whether it was killed is known a
/// moment later: if its process is gone, the core decides what the client receives.
void RelayedRequest::settle_ending() {
  drop_leg();
  if (counted_.is_tracked() && exchange_.response().wants_verdict() &&
      parts_.tracker.engine_may_be_gone()) {
    client_->connection().wait_for(Wait::verdict);
  } else {
    engine_lives();
  }
}

/// The engine was not reported as gone.
void RelayedRequest::engine_lives() {
  if (exchange_.response().ending() == relay::ResponseSide::Ending::by_close) {
    std::string last;
    exchange_.response().finish(last);
    write_and_end(last);
  } else {
    break_off(
        exchange_.response().is_malformed() ? relay::malformed_response() : relay::engine_failed(),
        Outcome::error);
  }
}

}  // namespace lastcall::ingress
