#include "relay/response_side.hpp"

#include <memory>
#include <utility>

#include "relay/engine_error.hpp"
#include "relay/first_byte.hpp"

namespace lastcall::relay {

std::uint64_t ResponseSide::events_sent() const {
  HeldBack::Error const* const held = held_back_.error();
  return held != nullptr ? held->events_before : delivery_.events().events();
}

std::size_t ResponseSide::capacity() const {
  HeldBack::Error const* const held = held_back_.error();
  return leg_.capacity() + delivery_.capacity() + (held != nullptr ? held->bytes.capacity() : 0);
}

Received ResponseSide::receive(std::span<char> bytes, Context const& context, std::string& wire) {
  Received received;
  bool const flowed = delivery_.has_first_byte();
  while (!bytes.empty() && !delivery_.is_over()) {
    if (leg_.state() == ResponseState::head) {
      bytes = read_head(bytes, context, wire, received);
    } else if (leg_.state() == ResponseState::body) {
      std::string_view const payload = leg_.read_body(bytes);
      deliver(payload, context, wire, received);
      if (leg_.state() == ResponseState::complete && held_back_.error() == nullptr) {
        delivery_.finish(wire);
      }
    } else if (leg_.state() == ResponseState::tunnel) {
      delivery_.pass({bytes.data(), bytes.size()}, wire);
      bytes = {};
    } else {
      break;  // malformed, or complete with what is held
    }
  }
  received.has_more = !bytes.empty();
  received.moved = flowed || received.first_byte;
  if (held_back_.error() != nullptr && received.has_more) {
    leg_.spoil();
  }
  return received;
}

/// Returns the bytes after the head.
std::span<char> ResponseSide::read_head(std::span<char> bytes, Context const& context,
                                        std::string& wire, Received& received) {
  ReadHead read;
  if (!leg_.read_head(bytes, context.asked, read)) {
    return {};
  }
  ResponseHead const& head = read.head;
  if (head.status == 101) {
    delivery_.switch_protocols(head, context.id, wire);
    received.switched = received.first_byte = true;
  } else if (head.status < 200) {
    delivery_.interim(head, context.asked.version, wire);
  } else if (error_of_answer(head) == EngineError::suspect && may_hold(context)) {
    held_back_.begin({HeldBack::Part::answer, context.now, std::string(read.text), 0, 0});
    received.holds = true;
    leg_.put_back();
    return {};
  } else {
    open(head, context, wire, received);
  }
  std::span<char> const rest = leg_.read_on(bytes, read);
  if (leg_.state() == ResponseState::complete) {
    delivery_.finish(wire);
  }
  return rest;
}

void ResponseSide::open(ResponseHead const& head, Context const& context, std::string& wire,
                        Received& received) {
  constexpr unsigned kServerError = 500;
  received.is_error = head.status >= kServerError;
  bool const ends_with_it =
      Delivery::coding_of(leg_.framing(), context.asked.version) == Delivery::Coding::until_close;
  received.closes = !context.asked.keeps_alive || ends_with_it || !context.has_all_of_request ||
                    context.world.is_closing();
  delivery_.open(head,
                 {.request_id = context.id,
                  .framing = leg_.framing(),
                  .streaming = context.wants_stream,
                  .close = received.closes},
                 context.asked.version, wire);
  received.first_byte = delivery_.state() == DeliveryState::flowing;
}

void ResponseSide::deliver(std::string_view payload, Context const& context, std::string& wire,
                           Received& received) {
  if (delivery_.state() == DeliveryState::opened && !payload.empty()) {
    delivery_.first_byte();
    received.first_byte = true;
  }
  if (!delivery_.is_event_stream()) {
    delivery_.emit(payload, {}, wire);
    return;
  }
  EventStream& events = delivery_.events();
  if (leg_.framing().kind == Framing::Kind::until_close) {
    events.note_last_words(payload);
  }
  EventScanner::Found const found = events.scan(payload);
  if (HeldBack::Error* const held = held_back_.error()) {
    held->whole = found.boundary > 0 ? held->bytes.size() + found.boundary : held->whole;
    held->bytes.append(payload);
    return;
  }
  if (found.suspect && hold_event(payload, found, context, wire, received)) {
    return;
  }
  if (delivery_.emit_events(payload, found.boundary, wire)) {
    note_event(context.now, received);
  }
}

void ResponseSide::note_event(Time now, Received& received) {
  Time const last = std::exchange(last_event_at_, now);
  if (last.count() > 0) {
    received.gap = now - last;
  }
}

// --- what is held back ---------------------------------------------------------------------------

bool ResponseSide::may_hold(Context const& context) const {
  return held_back_.is_possible() && delivery_.state() != DeliveryState::cut &&
         context.world.engine_may_be_dying();
}

/// Returns true if `payload`, which was scanned, is held back from its error event on.
bool ResponseSide::hold_event(std::string_view payload, EventScanner::Found const& found,
                              Context const& context, std::string& wire, Received& received) {
  EventStream& events = delivery_.events();
  EventScanner::Suspect const& suspect = *found.suspect;
  std::string before(suspect.begin == 0 ? events.part() : std::string());
  std::string_view const event = payload.substr(suspect.begin, suspect.end - suspect.begin);
  EngineError const error = error_of_event(before.empty() ? event : before + std::string(event));
  received.is_error = received.is_error || error != EngineError::none;
  bool const is_torn = events.at() == EventStream::At::torn;
  if (error != EngineError::suspect || is_torn || !may_hold(context)) {
    return false;
  }
  if (suspect.begin > 0) {
    EventStream::Pieces const whole = events.whole(payload, suspect.begin);
    delivery_.emit(whole.held, whole.fresh, wire);
    note_event(context.now, received);
  }
  events.settle();
  std::size_t const boundary = before.size() + found.boundary - suspect.begin;
  before.append(payload.substr(suspect.begin));
  held_back_.begin(
      {HeldBack::Part::events, context.now, std::move(before), suspect.before, boundary});
  received.holds = true;
  return true;
}

Received ResponseSide::let_through(Context const& context, std::string& wire) {
  std::unique_ptr<HeldBack::Error> const held = held_back_.end();
  if (held->part == HeldBack::Part::answer) {
    return receive(held->bytes, context, wire);
  }
  Received received;
  received.moved = true;
  delivery_.emit_events(held->bytes, held->whole, wire);
  if (leg_.state() == ResponseState::complete) {
    delivery_.finish(wire);
  }
  return received;
}

// --- the end of the leg --------------------------------------------------------------------------

ResponseSide::Ending ResponseSide::ended(bool orderly) {
  bool const by_close = orderly && delivery_.is_in_body() &&
                        leg_.framing().kind == Framing::Kind::until_close &&
                        (!delivery_.is_event_stream() || delivery_.events().ends_with_a_line());
  if (delivery_.state() == DeliveryState::tunnel) {
    leg_.end();
    delivery_.end_tunnel();
    ending_ = Ending::tunnel;
  } else {
    ending_ = by_close ? Ending::by_close : Ending::failed;
  }
  return ending_;
}

bool ResponseSide::wants_verdict() const {
  return !is_whole(delivery_) &&
         (ending_ == Ending::failed ||
          (delivery_.is_event_stream() && !delivery_.events().has_done_line()));
}

void ResponseSide::finish(std::string& wire) {
  leg_.end();
  delivery_.finish(wire);
}

bool ResponseSide::engine_has_begun(std::span<char> bytes, Asked const& asked, bool wants_stream) {
  while (leg_.state() == ResponseState::head) {
    ReadHead read;
    if (!leg_.read_head(bytes, asked, read)) {
      return is_malformed();
    }
    bool const is_final = read.head.status == 101 || read.head.status >= 200;
    if (is_final &&
        !begins_with_its_body(is_event_stream(read.head), leg_.framing(), wants_stream)) {
      return true;
    }
    bytes = leg_.read_on(bytes, read);
  }
  return !bytes.empty();
}

}  // namespace lastcall::relay
