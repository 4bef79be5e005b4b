#include "router/legs.hpp"

#include <chrono>
#include <utility>

#include "relay/first_byte.hpp"
#include "router/errors.hpp"
#include "router/parts.hpp"
#include "router/routed_request.hpp"
#include "router/verdict.hpp"

namespace lastcall::router {

using ingress::Wait;
using lifecycle::Outcome;
using relay::ResponseState;

namespace {

using continuation::Said;

constexpr std::chrono::seconds kWaitForWorker{30};
constexpr unsigned kOkStatus = 200;

/// Fields that a server does not know are a 400, or a 422 where a schema says so.
constexpr bool is_malformed_request(unsigned status) {
  return status == 400 || status == 422;
}

/// What a worker says of this request, and would say again.
constexpr bool is_no(unsigned status) {
  return status >= 400 && status < 500 && status != 408 && status != 429;
}

relay::Refusal no_worker() {
  return {503, "no_worker", "no worker can be reached at present", true, {}};
}

/// Its payload is recorded, so that it can go on elsewhere.
bool is_recorded(Seam const& seam, relay::Delivery const& delivery) {
  return seam.is_recording() && delivery.is_event_stream() &&
         delivery.coding() != relay::Delivery::Coding::as_it_came;
}

/// What the client of an answer that does not go on is told.
relay::Refusal not_continued(Seam const& seam) {
  using lifecycle::CancelReason;
  relay::Refusal refusal = seam.reason() == "migrated" ? relay::cut_by(CancelReason::migrate)
                           : seam.reason() == "engine_dead"
                               ? relay::cut_by(CancelReason::engine_dead)
                               : relay::engine_failed();
  refusal.reason = seam.why_not();
  return refusal;
}

}  // namespace

Legs::Legs(Parts& parts, RoutedRequest& request, Call& call)
    : parts_(parts), request_(request), call_(call), attempts_(parts.settings.choosing.attempts) {}

void Legs::start() {
  parts_.deadlines.arm(total_, Wait::total);
  seam_.begin(call_, parts_.settings.migration.by);
  if (!choose_and_connect()) {
    request_.refuse(no_worker());
  }
}

void Legs::drop() {
  total_.disarm();
  drop_leg(false);
}

// --- the way to a worker -------------------------------------------------------------------------

bool Legs::choose_and_connect() {
  while (attempts_.are_left()) {
    std::shared_ptr<Worker> const worker =
        parts_.fleet.choose(call_.wanted.model, attempts_.tried(), ingress::monotonic_now());
    if (!worker) {
      return false;
    }
    attempts_.note(*worker);
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
bool Legs::connect_to(std::shared_ptr<Worker> const& worker, bool fresh) {
  ingress::Upstream* const connection = parts_.connections.acquire(*worker, fresh);
  if (connection == nullptr) {
    return false;
  }
  parts_.fleet.began(*worker);
  leg_ = std::make_unique<Leg>(worker, *connection);
  connection->carry(*this);
  if (connection->is_connected()) {
    connected();
  } else {
    request_.client()->wait_for(Wait::connect);
  }
  return true;
}

void Legs::connected() {
  std::string head = call_.head;
  head.append("X-Request-Id: ").append(call_.id);
  if (seam_.moves() > 0) {
    head.append("-m").append(std::to_string(seam_.moves()));
  }
  leg_->begin(head.append("\r\n"), seam_.body(call_));
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
  if (!call_.has_sent_nothing()) {
    connect_again();
  } else if (!is_allowed || !choose_and_connect()) {
    request_.refuse(last);
  }
}

void Legs::expired(Wait wait) {
  if (wait == Wait::held) {
    connect_again();
  } else if (wait == Wait::first_byte) {
    replace_leg(Failover::timed_out, relay::timed_out("no worker answered in time", true));
  } else if (wait == Wait::idle && is_recorded(seam_, call_.delivery)) {
    migrate(Seam::kStall);
  } else if (wait == Wait::idle) {
    break_off(relay::timed_out("the worker's response stood still for too long", false));
  } else {
    request_.break_off(relay::timed_out("the request took too long", false), Outcome::error);
  }
}

// --- going on elsewhere --------------------------------------------------------------------------

void Legs::migrate(std::string_view reason) {
  std::shared_ptr<Worker> const worker = leg_->worker();
  parts_.fleet.failed(*worker, ingress::monotonic_now());
  drop_leg(false);
  std::string out;
  Seam::Going const going = seam_.go_on(reason, out);
  call_.events = seam_.events();
  parts_.metrics.migrated(call_.model, reason, seam_.why_not());
  parts_.log.info("an answer goes on at another worker, or ends", {{"request_id", call_.id},
                                                                   {"worker", worker->url()},
                                                                   {"reason", reason},
                                                                   {"why_not", seam_.why_not()}});
  std::string wire;
  call_.delivery.emit(out, {}, wire);
  switch (going) {
    case Seam::Going::on:
      request_.client()->write(wire);
      if (request_.client() != nullptr) {
        attempts_.begin_again(*worker, ingress::monotonic_now() + kWaitForWorker);
        connect_again();
      }
      return;
    case Seam::Going::finished:
      call_.delivery.finish(wire);
      request_.write_and_end(wire);
      return;
    case Seam::Going::refused:
      request_.break_off(not_continued(seam_), Outcome::error);
      return;
  }
}

void Legs::connect_again() {
  if (choose_and_connect()) {
    return;
  }
  if (attempts_.wait(ingress::monotonic_now())) {
    request_.client()->wait_for(Wait::held);
  } else {
    request_.break_off(no_worker(), Outcome::error);
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
  if (!call_.has_sent_nothing() && (head.status != kOkStatus || !relay::is_event_stream(head))) {
    if (verdict == Verdict::answer && is_no(head.status)) {
      // Asked again it would say the same, and it is as good as before for other requests.
      parts_.metrics.failed_over(Failover::refused);
      drop_leg(false);
      if (!choose_and_connect()) {
        seam_.give_up();
        request_.break_off(not_continued(seam_), Outcome::error);
      }
    } else {
      replace_leg(Failover::refused, no_worker());
    }
    return true;
  }
  if (is_malformed_request(head.status) && call_.has_sent_nothing() && seam_.give_up_additions()) {
    std::shared_ptr<Worker> const worker = leg_->worker();
    drop_leg(false);
    if (!connect_to(worker, true) && !choose_and_connect()) {
      request_.refuse(no_worker());
    }
    return true;
  }
  if (verdict == Verdict::answer) {
    parts_.fleet.answered(*leg_->worker());
    return false;
  }
  if (verdict != Verdict::broke) {
    parts_.fleet.failed(*leg_->worker(), ingress::monotonic_now());
  } else if (attempts_.is_believed()) {
    return false;
  }
  Repeat const repeat = call_.route.repeat;
  bool const is_allowed =
      repeat == Repeat::always || (repeat == Repeat::unless_begun && verdict == Verdict::refused);
  bool const may_be_replaced =
      is_allowed && attempts_.are_left() &&
      parts_.fleet.choose(call_.wanted.model, attempts_.tried(), ingress::monotonic_now());
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
  if (read.head.status >= kOkStatus) {
    if (is_replaced(read.head)) {
      return false;
    }
    relay::Framing const& framing = leg_->reader().framing();
    if (call_.has_sent_nothing()) {
      bool const ends_with_it = relay::Delivery::coding_of(framing, call_.asked.version) ==
                                relay::Delivery::Coding::until_close;
      if (!call_.asked.keeps_alive || ends_with_it || parts_.departure.is_closing(call_.place)) {
        call_.after = relay::After::close;
      }
      call_.error_type = error_type_of(read.head.status);
      call_.delivery.open(read.head,
                          {.request_id = call_.id,
                           .framing = framing,
                           .streaming = call_.wanted.stream,
                           .close = call_.after != relay::After::keep},
                          call_.asked.version, wire);
    }
    if (is_recorded(seam_, call_.delivery)) {
      seam_.begin_leg();
    }
  }
  bytes = leg_->reader().read_on(bytes, read);
  return true;
}

Said Legs::deliver(std::string_view payload, std::string& wire) {
  if (payload.empty()) {
    return Said::nothing;
  }
  relay::Delivery& delivery = call_.delivery;
  if (delivery.state() == relay::DeliveryState::opened) {
    delivery.first_byte();
  }
  Said said = Said::nothing;
  bool has_events = false;
  if (is_recorded(seam_, delivery)) {
    std::string out;
    continuation::Heard const heard = seam_.heard(payload, out);
    said = heard.said;
    has_events = heard.moved;
    call_.events = seam_.events();
    delivery.emit(out, {}, wire);
  } else if (!delivery.is_event_stream()) {
    delivery.emit(payload, {}, wire);
  } else {
    if (leg_->reader().framing().kind == relay::Framing::Kind::until_close) {
      delivery.events().note_last_words(payload);
    }
    has_events = delivery.emit_events(payload, delivery.events().scan(payload), wire);
  }
  Call::Clock::time_point const now = Call::Clock::now();
  bool const is_first = call_.last_event_at == Call::Clock::time_point{};
  if (is_first) {
    parts_.metrics.first_byte(call_.model, now - call_.began_at);
  } else if (has_events) {
    parts_.metrics.event_gap(call_.model, now - call_.last_event_at);
  }
  call_.last_event_at = is_first || has_events ? now : call_.last_event_at;
  return said;
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
  Said said = Said::nothing;
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    said = deliver(reader.read_body(bytes), wire);
  }
  bool const is_whole = reader.state() == ResponseState::complete;
  bool const is_broken = reader.state() == ResponseState::malformed;
  if ((is_whole || is_broken) && said < Said::done && is_recorded(seam_, call_.delivery)) {
    std::string out;
    said = seam_.leg_ended(out).said;
    call_.delivery.emit(out, {}, wire);
  }
  if (said == Said::done || (is_whole && said != Said::failed)) {
    call_.delivery.finish(wire);
    drop_leg(is_whole && reader.keeps_alive() && leg_->was_all_sent() && bytes.empty() &&
             reader.framing().kind != relay::Framing::Kind::until_close);
  }
  request_.client()->write(wire);
  if (request_.client() == nullptr) {
    return;
  }
  if (said == Said::failed) {
    migrate(seam_.reason());
  } else if (leg_ && leg_->reader().state() == ResponseState::malformed) {
    break_off(relay::malformed_response());
  } else if (call_.delivery.is_over() && request_.client()->is_flushed()) {
    request_.end();
  } else if (!call_.has_sent_nothing() && request_.client()->is_flushed()) {
    request_.client()->wait_for(Wait::idle);
  }
}

void Legs::engine_ended(bool orderly) {
  relay::ResponseReader& reader = leg_->reader();
  bool const is_before_the_head = reader.state() == ResponseState::head;
  if (is_before_the_head) {
    bool const was_stale = leg_->connection().was_used() && reader.has_nothing();
    std::shared_ptr<Worker> const worker = leg_->worker();
    if (was_stale && call_.route.repeat == Repeat::always) {
      drop_leg(false);
      if (!connect_to(worker, true)) {
        connect_again();
      }
    } else {
      replace_leg(Failover::broken, relay::engine_failed());
    }
    return;
  }
  relay::Delivery& delivery = call_.delivery;
  std::string last;
  bool is_end = orderly && reader.framing().kind == relay::Framing::Kind::until_close &&
                (!delivery.is_event_stream() || delivery.events().ends_with_a_line());
  if (is_recorded(seam_, delivery)) {
    is_end = seam_.leg_ended(last).said == Said::done;
    std::string wire;
    delivery.emit(last, {}, wire);
    last = std::move(wire);
    if (!is_end) {
      request_.client()->write(last);
      if (request_.client() != nullptr) {
        migrate("eof");
      }
      return;
    }
  }
  if (!is_end) {
    break_off(relay::engine_failed());
    return;
  }
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
