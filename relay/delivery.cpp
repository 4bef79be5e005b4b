#include "relay/delivery.hpp"

#include <utility>

#include "relay/chunk_writer.hpp"
#include "relay/first_byte.hpp"
#include "relay/head_writer.hpp"

namespace lastcall::relay {

void Delivery::interim(ResponseHead const& head, Version version, std::string& wire) {
  if (head.status != 100 && version == Version::http11) {
    write_response_head(wire, head, {});
  }
}

void Delivery::switch_protocols(ResponseHead const& head, std::string_view request_id,
                                std::string& wire) {
  write_response_head(wire, head, {.request_id = request_id, .upgrade = true});
  kDeliveryMoves.apply(state_, DeliveryEvent::switched);
}

Delivery::Coding Delivery::coding_of(Framing const& framing, Version version) {
  bool const is_open_ended =
      framing.kind == Framing::Kind::chunked || framing.kind == Framing::Kind::until_close;
  if (!is_open_ended) {
    return Coding::as_it_came;
  }
  return version == Version::http11 ? Coding::chunked : Coding::until_close;
}

void Delivery::open(ResponseHead const& head, Opening const& opening, Version version,
                    std::string& wire) {
  coding_ = coding_of(opening.framing, version);
  kind_ = relay::is_event_stream(head) ? Kind::events : Kind::bytes;
  status_ = static_cast<std::uint16_t>(head.status);
  write_response_head(wire, head,
                      {.request_id = opening.request_id,
                       .chunked = coding_ == Coding::chunked,
                       .close = opening.close,
                       .keep_alive = version == Version::http10});
  kDeliveryMoves.apply(state_, DeliveryEvent::open);
  if (!begins_with_its_body(is_event_stream(), opening.framing, opening.streaming)) {
    first_byte();
  }
}

void Delivery::emit(std::string_view first, std::string_view second, std::string& wire) {
  bytes_sent_ += first.size() + second.size();
  if (coding_ == Coding::chunked) {
    append_chunk(wire, first, second);
  } else {
    wire.append(first).append(second);
  }
}

void Delivery::pass(std::string_view bytes, std::string& wire) {
  bytes_sent_ += bytes.size();
  wire.append(bytes);
}

bool Delivery::emit_events(std::string_view payload, std::size_t boundary, std::string& wire) {
  EventStream& events = this->events();
  EventStream::Pieces const whole = events.whole(payload, boundary);
  if (whole.has_whole_events) {
    emit(whole.held, whole.fresh, wire);
    events.settle();
  }
  EventStream::Pieces const rest = events.rest(payload, boundary);
  if (!rest.held.empty() || !rest.fresh.empty()) {
    emit(rest.held, rest.fresh, wire);
    events.settle();
  }
  return whole.has_whole_events;
}

void Delivery::finish(std::string& wire) {
  if (events_) {
    emit(events_->part(), {}, wire);
    events_->settle();
  }
  if (coding_ == Coding::chunked) {
    append_last_chunk(wire);
  }
  kDeliveryMoves.apply(state_, DeliveryEvent::end);
}

void Delivery::refuse(Refusal const& refusal, Refusing const& how, std::string& wire) {
  append_refusal(wire, refusal, {how.request_id, 0, 0}, how.close, how.head_only);
  cut();
}

Farewell Delivery::cut(Refusal const& refusal, std::string_view request_id, std::uint64_t events,
                       std::string& wire) {
  if (is_whole(*this)) {
    events_->settle();
    finish(wire);
    return Farewell::last_chunk;
  }
  bool const can_report = is_in_body() && kind_ == Kind::events &&
                          std::as_const(*this).events().at() == EventStream::At::boundary &&
                          coding_ != Coding::as_it_came;
  cut();
  if (!can_report) {
    return coding_ == Coding::until_close ? Farewell::reset : Farewell::silence;
  }
  std::string event;
  append_error_event(event, refusal, {request_id, events, bytes_sent_});
  emit(event, {}, wire);
  return Farewell::error_event;
}

}  // namespace lastcall::relay
