#include "router/answer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "relay/engine_error.hpp"
#include "relay/first_byte.hpp"
#include "relay/http_text.hpp"
#include "router/errors.hpp"
#include "router/parts.hpp"
#include "router/rejected.hpp"
#include "router/verdict.hpp"

namespace lastcall::router {

using continuation::Progress;

namespace {

/// Whether the client will receive a stream of another length than the worker declares: events lose
/// what only the router needs, or come from another worker.
bool is_length_of_leg(relay::ResponseHead const& head, relay::Framing const& framing,
                      relay::Asked const& asked) {
  bool const is_declared =
      framing.kind == relay::Framing::Kind::length || framing.kind == relay::Framing::Kind::none;
  return is_declared && head.status == kOkStatus && !asked.is_head && relay::is_event_stream(head);
}

relay::ResponseHead without_length(relay::ResponseHead const& head) {
  relay::ResponseHead changed = head;
  changed.fields.clear();
  for (relay::Field const& field : head.fields) {
    if (!relay::http_text::same(field.name, "content-length")) {
      changed.fields.add(field);
    }
  }
  return changed;
}

}  // namespace

bool Answer::is_recorded() const {
  return seam_.is_recording() && call_.delivery.is_served() && call_.delivery.is_event_stream() &&
         call_.delivery.coding() != relay::Delivery::Coding::as_it_came;
}

void Answer::open(relay::ResponseHead const& head, relay::Framing const& framing,
                  std::string& wire) {
  if (seam_.is_recording() && is_length_of_leg(head, framing, call_.asked)) {
    open(without_length(head), {.kind = relay::Framing::Kind::chunked}, wire);
    return;
  }
  if (std::exchange(call_.is_queued, false)) {
    parts().metrics.taken(call_.label());
  }
  bool const ends_with_it = relay::Delivery::coding_of(framing, call_.asked.version) ==
                            relay::Delivery::Coding::until_close;
  if (!call_.asked.keeps_alive || ends_with_it || parts().departure.is_closing(call_.place)) {
    call_.after = relay::After::close;
  }
  std::string_view reason;
  head.fields.count("x-lastcall-reason", reason);
  call_.error_type = error_type_of(head.status, reason);
  if (is_rejection(head)) {
    parts().metrics.rejected(call_.label(), call_.route.endpoint());
  }
  call_.delivery.open(head,
                      {.request_id = call_.id(),
                       .framing = framing,
                       .streaming = call_.wanted.stream,
                       .close = call_.after != relay::After::keep},
                      call_.asked.version, wire);
}

Answer::Delivered Answer::deliver(std::string_view payload, bool until_close, std::string& wire) {
  if (payload.empty()) {
    return {};
  }
  relay::Delivery& delivery = call_.delivery;
  if (delivery.state() == relay::DeliveryState::opened) {
    delivery.first_byte();
  }
  Delivered delivered;
  bool has_events = false;
  std::size_t const before = wire.size();
  bool const records = is_recorded();
  is_steady_ = is_steady_ && records;
  if (records) {
    std::string& out = parts().events;
    out.clear();
    std::size_t const held = seam_.capacity();
    continuation::Received const received = seam_.receive(payload, out);
    delivered.progress = received.progress;
    note(received);
    has_events = received.moved;
    if (received.hand_off_ms) {
      delivered.hint = monotonic_time() + Time(*received.hand_off_ms);
    }
    if (received.moved && call_.moving && call_.last_event_at != Call::Clock::time_point{}) {
      mark(*call_.moving, wire);
    }
    emit(out, wire);
    is_steady_ = is_steady_ && seam_.capacity() == held;
    hold_record();
  } else if (!delivery.is_event_stream()) {
    delivery.emit(payload, {}, wire);
  } else {
    if (until_close) {
      delivery.events().note_last_words(payload);
    }
    relay::EventScanner::Found const found = delivery.events().scan(payload);
    if (found.suspect) {
      note_error(*found.suspect, payload);
    }
    has_events = delivery.emit_events(payload, found.boundary, wire);
  }
  if (wire.size() > before || has_events) {  // a hint for the router is not part of an answer
    note_time(has_events);
  }
  return delivered;
}

/// The engine may have ended the answer with an error of its own.
void Answer::note_error(relay::EventScanner::Suspect const& suspect, std::string_view payload) {
  std::string event(suspect.begin == 0 ? call_.delivery.events().part() : std::string());
  event.append(payload.substr(suspect.begin, suspect.end - suspect.begin));
  if (unsigned const status = relay::status_of_error(event); status != 0) {
    call_.error_type = error_type_of(status);
  }
}

void Answer::note_time(bool has_events) {
  Call::Clock::time_point const now = parts().poller.instant();
  bool const is_first = call_.last_event_at == Call::Clock::time_point{};
  if (is_first) {
    parts().metrics.first_byte(call_.label(), now - call_.began_at);
  }
  if (has_events && call_.moving) {
    has_moved(now);
  } else if (has_events && !is_first) {
    parts().metrics.event_gap(call_.label(), now - call_.last_event_at);
  }
  call_.last_event_at = is_first || has_events ? now : call_.last_event_at;
}

/// The pause is not counted as a latency between tokens.
void Answer::has_moved(Call::Clock::time_point now) {
  Moving const kind = *std::exchange(call_.moving, std::nullopt);
  parts().metrics.moved(kind, Moved::continued);
  if (call_.last_event_at != Call::Clock::time_point{}) {
    parts().metrics.paused(kind, now - call_.last_event_at);
  }
}

/// Writes a whole event, which clients ignore because it is a comment.
void Answer::mark(Moving kind, std::string& wire) const {
  if (parts().settings.migration.comment) {
    std::string comment = ": lastcall-migrated {\"kind\": \"";
    comment.append(name(kind)).append("\"}\n\n");
    call_.delivery.emit(comment, {}, wire);
  }
}

void Answer::handed_over(std::string& wire) {
  mark(Moving::planned, wire);
  Call::Clock::time_point const now = parts().poller.instant();
  call_.moving = Moving::planned;
  has_moved(now);
  call_.last_event_at = now;
}

void Answer::note(continuation::Received const& received) {
  if (received.error_status != 0) {
    call_.error_type = error_type_of(received.error_status);
  }
}

void Answer::leg_begins() {
  is_steady_ = false;
  if (seam_.is_recording()) {
    hold_record();
  }
}

void Answer::hold_record() {
  parts().records.hold(*this, seam_.story().known().transcript.bytes());
}

void Answer::drop() {
  parts().records.hold(*this, 0);
}

bool Answer::forget_record() {
  bool const is_forgotten = seam_.forget();
  if (is_forgotten && call_.client != nullptr) {
    call_.client->weigh();  // it may be silent for long, while others need the memory
  }
  if (is_forgotten) {
    parts().log.debug("the record of an answer was dropped for lack of memory",
                      {{"request_id", call_.id()}});
  }
  return is_forgotten;
}

Progress Answer::leg_ended(std::string& wire) {
  std::string out;
  continuation::Received const received = seam_.leg_ended(out);
  note(received);
  emit(out, wire);
  return received.progress;
}

void Answer::emit(std::string_view out, std::string& wire) {
  call_.delivery.emit(out, {}, wire);
}

}  // namespace lastcall::router
