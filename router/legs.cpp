#include "router/legs.hpp"

#include <utility>

#include "router/errors.hpp"
#include "router/parts.hpp"
#include "router/routed_request.hpp"
#include "router/verdict.hpp"

namespace lastcall::router {

using ingress::Wait;
using lifecycle::Outcome;
using relay::ResponseState;

namespace {

relay::Refusal no_worker() {
  return {503, "no_worker", "no worker can be reached at present", true, {}};
}

}  // namespace

Legs::Legs(Parts& parts, RoutedRequest& request, Call& call)
    : parts_(parts), request_(request), call_(call) {}

void Legs::start() {
  parts_.deadlines.arm(total_, Wait::total);
  if (!choose_and_connect()) {
    request_.refuse(no_worker());
  }
}

void Legs::drop() {
  total_.disarm();
  drop_leg(false);
}

// --- the way to a worker -------------------------------------------------------------------------

bool Legs::may_go_on() const {
  return call_.has_sent_nothing() && tried_.size() < parts_.settings.choosing.attempts;
}

bool Legs::choose_and_connect() {
  while (may_go_on()) {
    std::shared_ptr<Worker> const worker =
        parts_.fleet.choose(call_.wanted.model, tried_, ingress::monotonic_now());
    if (!worker) {
      return false;
    }
    tried_.push_back(worker->id());
    if (connect_to(worker, call_.route.repeat != Repeat::always)) {
      return true;
    }
    parts_.fleet.failed(*worker, ingress::monotonic_now());
    parts_.metrics.failed_over(Failover::unreachable);
  }
  return false;
}

/// `fresh`: a kept connection may be closed by its worker just now, and then nobody knows whether
/// the request was read.
bool Legs::connect_to(std::shared_ptr<Worker> worker, bool fresh) {
  ingress::Upstream* const connection = parts_.connections.acquire(*worker, fresh);
  if (connection == nullptr) {
    return false;
  }
  parts_.fleet.began(*worker);
  leg_ = std::make_unique<Leg>(std::move(worker), *connection);
  connection->carry(*this);
  if (connection->is_connected()) {
    connected();
  } else {
    request_.client()->wait_for(Wait::connect);
  }
  return true;
}

void Legs::connected() {
  leg_->begin(call_.head, call_.body.text());
  request_.client()->wait_for(Wait::first_byte);
}

void Legs::engine_takes_more() {
  leg_->send();
}

void Legs::connect_failed() {
  parts_.connections.avoid(*leg_->worker(), leg_->connection().address());
  replace_leg(Failover::unreachable, no_worker());
}

void Legs::drop_leg(bool keep) {
  if (std::unique_ptr<Leg> const leg = std::move(leg_)) {
    parts_.fleet.ended(*leg->worker());
    leg->connection().release(keep && !leg->worker()->has_left());
    parts_.connections.swept(*leg->worker());
  }
}

void Legs::replace_leg(Failover why, relay::Refusal const& last) {
  bool const is_allowed = call_.route.repeat == Repeat::always || !leg_->was_sent();
  parts_.fleet.failed(*leg_->worker(), ingress::monotonic_now());
  parts_.metrics.failed_over(why);
  parts_.log.debug(
      "a worker is given up before its first byte",
      {{"request_id", call_.id}, {"worker", leg_->worker()->url()}, {"reason", name(why)}});
  drop_leg(false);
  if (!is_allowed || !choose_and_connect()) {
    request_.refuse(last);
  }
}

void Legs::expired(Wait wait) {
  if (wait == Wait::first_byte) {
    replace_leg(Failover::timed_out, relay::timed_out("no worker answered in time", true));
  } else if (wait == Wait::idle) {
    break_off(relay::timed_out("the worker's response stood still for too long", false));
  } else {
    request_.break_off(relay::timed_out("the request took too long", false), Outcome::error);
  }
}

// --- the way of the response ---------------------------------------------------------------------

bool Legs::takes_response() const {
  return request_.client() != nullptr && request_.client()->is_flushed();
}

void Legs::handled() {
  if (request_.client() != nullptr) {
    request_.client()->weigh();
  }
}

void Legs::flushed() {
  if (leg_ && !call_.has_sent_nothing()) {
    request_.client()->wait_for(Wait::idle);
  }
  if (leg_) {
    leg_->connection().pump();
  }
}

/// Another worker is asked instead of passing this answer on.
bool Legs::is_replaced(relay::ResponseHead const& head) {
  Verdict const verdict = verdict_of(head);
  if (verdict == Verdict::answer) {
    parts_.fleet.answered(*leg_->worker());
    return false;
  }
  parts_.fleet.failed(*leg_->worker(), ingress::monotonic_now());
  Repeat const repeat = call_.route.repeat;
  bool const is_allowed =
      repeat == Repeat::always || (repeat == Repeat::unless_begun && verdict == Verdict::refused);
  bool const may_be_replaced =
      is_allowed && may_go_on() &&
      parts_.fleet.choose(call_.wanted.model, tried_, ingress::monotonic_now());
  if (!may_be_replaced) {
    return false;
  }
  parts_.metrics.failed_over(Failover::refused);
  drop_leg(false);
  if (!choose_and_connect()) {
    request_.refuse(no_worker());
  }
  return true;
}

/// True: the leg is still there, and what is left of `bytes` is its.
bool Legs::read_head(std::span<char>& bytes, std::string& wire) {
  relay::ReadHead read;
  if (!leg_->reader().read_head(bytes, call_.asked, read)) {
    if (leg_->reader().state() == ResponseState::malformed) {
      replace_leg(Failover::broken, relay::malformed_response());
    }
    return false;
  }
  constexpr unsigned kFinal = 200;
  if (read.head.status >= kFinal) {
    if (is_replaced(read.head)) {
      return false;
    }
    open(read.head, wire);
  }
  bytes = leg_->reader().read_on(bytes, read);
  return true;
}

void Legs::open(relay::ResponseHead const& head, std::string& wire) {
  relay::Framing const& framing = leg_->reader().framing();
  bool const ends_with_it = relay::Delivery::coding_of(framing, call_.asked.version) ==
                            relay::Delivery::Coding::until_close;
  if (!call_.asked.keeps_alive || ends_with_it || parts_.departure.is_closing(call_.place)) {
    call_.after = relay::After::close;
  }
  call_.error_type = error_type_of(head.status);
  call_.delivery.open(head,
                      {.request_id = call_.id,
                       .framing = framing,
                       .streaming = call_.wanted.stream,
                       .close = call_.after != relay::After::keep},
                      call_.asked.version, wire);
}

void Legs::deliver(std::string_view payload, std::string& wire) {
  if (payload.empty()) {
    return;
  }
  relay::Delivery& delivery = call_.delivery;
  if (delivery.state() == relay::DeliveryState::opened) {
    delivery.first_byte();
  }
  bool has_events = false;
  if (!delivery.is_event_stream()) {
    delivery.emit(payload, {}, wire);
  } else {
    if (leg_->reader().framing().kind == relay::Framing::Kind::until_close) {
      delivery.events().note_last_words(payload);
    }
    has_events = delivery.emit_events(payload, delivery.events().scan(payload), wire);
  }
  Call::Clock::time_point const now = Call::Clock::now();
  bool const is_first = last_event_at_ == Call::Clock::time_point{};
  if (is_first) {
    parts_.metrics.first_byte(call_.model, now - call_.began_at);
  } else if (has_events) {
    parts_.metrics.event_gap(call_.model, now - last_event_at_);
  }
  last_event_at_ = is_first || has_events ? now : last_event_at_;
}

void Legs::response(std::span<char> bytes) {
  if (call_.delivery.is_over()) {
    drop_leg(false);  // more than it was asked for
    return;
  }
  std::string& wire = parts_.wire;
  wire.clear();
  relay::ResponseReader& reader = leg_->reader();
  while (reader.state() == ResponseState::head && !bytes.empty()) {
    if (!read_head(bytes, wire)) {
      return;  // what `reader` was may be gone
    }
  }
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    deliver(reader.read_body(bytes), wire);
  }
  if (reader.state() == ResponseState::complete) {
    call_.delivery.finish(wire);
    drop_leg(reader.keeps_alive() && leg_->was_all_sent() && bytes.empty() &&
             reader.framing().kind != relay::Framing::Kind::until_close);
  }
  request_.client()->write(wire);
  if (request_.client() == nullptr) {
    return;
  }
  if (leg_ && leg_->reader().state() == ResponseState::malformed) {
    break_off(relay::malformed_response());
  } else if (call_.delivery.is_over() && request_.client()->is_flushed()) {
    request_.end();
  } else if (!call_.has_sent_nothing() && request_.client()->is_flushed()) {
    request_.client()->wait_for(Wait::idle);
  }
}

void Legs::engine_ended(bool orderly) {
  relay::ResponseReader& reader = leg_->reader();
  if (call_.has_sent_nothing()) {
    bool const was_stale = leg_->connection().was_used() && reader.has_nothing();
    std::shared_ptr<Worker> const worker = leg_->worker();
    if (was_stale && call_.route.repeat == Repeat::always) {
      drop_leg(false);
      if (!connect_to(worker, true) && !choose_and_connect()) {
        request_.refuse(no_worker());
      }
    } else {
      replace_leg(Failover::broken, relay::engine_failed());
    }
    return;
  }
  relay::Delivery& delivery = call_.delivery;
  bool const is_end = orderly && reader.framing().kind == relay::Framing::Kind::until_close &&
                      (!delivery.is_event_stream() || delivery.events().ends_with_a_line());
  if (!is_end) {
    break_off(relay::engine_failed());
    return;
  }
  std::string last;
  delivery.finish(last);
  drop_leg(false);
  request_.write_and_end(last);
}

/// In the middle of a response: the worker is at fault.
void Legs::break_off(relay::Refusal const& refusal) {
  parts_.fleet.failed(*leg_->worker(), ingress::monotonic_now());
  request_.break_off(refusal, Outcome::error);
}

}  // namespace lastcall::router
