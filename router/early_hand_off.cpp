#include "router/early_hand_off.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "relay/first_byte.hpp"
#include "router/parts.hpp"
#include "router/room.hpp"

namespace lastcall::router {

using relay::ResponseState;

namespace {

constexpr unsigned kTakesOver = 200;

}  // namespace

void EarlyHandOff::look(Leg& old, std::optional<Time> hint) {
  if (hint && state_ <= State::waiting) {
    parts_.fleet.failed(*old.worker(), monotonic_time());
    from_ = {old.worker(), *hint};
    if (!risk_.may_move(kHandOff)) {
      drop();
    } else if (state_ == State::idle) {
      state_ = State::staying;
    }
  }
  if (state_ != State::idle && state_ <= State::waiting) {
    weigh();
  } else if (state_ == State::warmed && old.sent().is_all_out()) {
    if (std::optional<std::string> body = seam_.cut(call_.modes.of(*to_))) {
      state_ = State::holding;
      begin_leg("-m" + std::to_string(seam_.moves()), std::move(*body));
    }
  }
}

void EarlyHandOff::released() {
  if (state_ == State::holding) {
    drop();
  }
}

void EarlyHandOff::weigh() {
  continuation::Known const known = seam_.story().known();
  continuation::Stretch const left{.made = known.transcript.count().about(),
                                   .most = known.request.max_tokens.get(),
                                   .now = monotonic_time(),
                                   .cut_at = from_.cut_at};
  if (left.now >= left.cut_at) {
    drop();
  } else if (seam_.has_begun() && call_.pace.is_known() && continuation::fits(call_.pace, left)) {
    parts_.waiting.leave(*this);
    state_ = State::staying;
    parts_.alarms.set(*this, continuation::fits_until(call_.pace, left));
  } else if (state_ != State::waiting) {
    parts_.alarms.set(*this, left.cut_at);
    state_ = State::wanted;
    if (try_again() != Tried::gone) {
      state_ = State::waiting;
      parts_.waiting.enter(*this, call_.wanted.model,
                           {LegWork::Kind::hands_over, tokens_of(seam_, call_)});
    }
  }
}

Waiter::Tried EarlyHandOff::try_again() {
  bool const has_begun = seam_.has_begun();
  if (has_begun ? !seam_.story().may_be_cut() : !seam_.story().refused().empty()) {
    state_ = State::wanted;  // until ids and text may be level after the next event
    return Tried::gone;
  }
  LegWork const work{LegWork::Kind::hands_over, tokens_of(seam_, call_)};
  std::array const tried{from_.worker->id()};
  Room room = find_room(parts_, has_begun ? call_.to_go_on(*seam_.known()) : call_.to_choose(),
                        work, tried);
  // An answer that starts again leaves its old worker, so it waits for a worker that has not just
  // failed.
  if (!room.worker || (!has_begun && room.worker->skipped_until() > monotonic_time())) {
    return room.is_full ? Tried::no_room : Tried::refused;
  }
  if (!has_begun) {
    owner_.hand_off_ended({.how = HandOffResult::How::begins_anew});
    return Tried::gone;
  }
  std::optional<std::string> body = seam_.warming_body(call_.modes.of(*room.worker));
  if (!body) {
    state_ = State::wanted;
    return Tried::gone;
  }
  to_ = std::move(room.worker);
  place_.take(parts_.pacing, to_->id(), work);
  if (to_->keeps_no_prompts()) {  // it would compute the prompt twice
    state_ = State::warmed;
    return Tried::gone;
  }
  state_ = State::warming;
  begin_leg("-w", std::move(*body));
  return Tried::gone;
}

void EarlyHandOff::alarm_rings() {
  if (state_ == State::staying) {
    weigh();
  } else {
    failed();
  }
}

void EarlyHandOff::begin_leg(std::string_view suffix, std::string body) {
  leg_ = Leg::begin(
      parts_, *this, to_,
      {.head = head_of_leg(
           call_, {.suffix = suffix, .is_recorded = true, .goes_on = state_ == State::holding}),
       .body = {},
       .own_body = std::move(body),
       .awaits = Awaits::events,
       .fresh = false,
       .work = {}});
  if (!leg_) {
    failed();
  }
}

void EarlyHandOff::drop() {
  parts_.alarms.clear(*this);
  parts_.waiting.leave(*this);
  Leg::end(leg_, false);
  place_.give_back();
  to_.reset();
  to_cuts_at_.reset();
  state_ = State::idle;
}

void EarlyHandOff::flushed() {
  if (leg_) {
    leg_->resume();
  }
}

/// Afterwards everything is as if no hand-off had been tried.
void EarlyHandOff::failed() {
  bool const was_holding = state_ == State::holding;
  drop();
  if (was_holding && seam_.is_holding()) {
    std::string out;
    continuation::Received const received = seam_.release(out);
    owner_.hand_off_ended({.received = received, .out = out});
  }
}

void EarlyHandOff::leg_is_late(Leg& leg, Late /*how*/) {
  parts_.fleet.failed(*leg.worker(), monotonic_time());
  failed();
}

void EarlyHandOff::leg_ended(Leg& /*leg*/, bool /*orderly*/) {
  failed();
}

void EarlyHandOff::leg_response(Leg& leg, std::span<char> bytes) {
  relay::ResponseReader& reader = leg.reader();
  while (reader.state() == ResponseState::head && !bytes.empty()) {
    relay::ReadHead read;
    if (!reader.read_head(bytes, call_.asked, read)) {
      if (reader.state() == ResponseState::malformed) {
        failed();
      }
      return;
    }
    bool const is_interim = read.head.status < kTakesOver;
    if (!is_interim && (read.head.status != kTakesOver || !relay::is_event_stream(read.head))) {
      failed();
      return;
    }
    bytes = reader.read_on(bytes, read);
  }
  if (state_ == State::warming) {
    warmed(bytes);
    return;
  }
  std::string out;
  continuation::Received received;
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    received = seam_.receive_next(reader.read_body(bytes), out);
  }
  Time const now = monotonic_time();
  if (received.hand_off_ms) {
    to_cuts_at_ = now + Time(*received.hand_off_ms);
  }
  if (received.verified) {
    std::unique_ptr<Leg> next = std::move(leg_);
    std::optional<Time> const cuts_at = to_cuts_at_;
    risk_.moved(kHandOff, *from_.worker, true, now);
    drop();
    owner_.hand_off_ended({.how = HandOffResult::How::moved,
                           .next = std::move(next),
                           .received = received,
                           .out = out,
                           .hint = cuts_at});
  } else if (!seam_.is_holding()) {
    drop();
    owner_.hand_off_ended({.received = received, .out = out});
  } else if (reader.state() >= ResponseState::complete) {
    failed();
  }
}

/// The output is dropped; its end shows that the prompt is in the worker's cache.
void EarlyHandOff::warmed(std::span<char> bytes) {
  relay::ResponseReader& reader = leg_->reader();
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    reader.read_body(bytes);
  }
  if (reader.state() == ResponseState::complete) {
    Leg::end(leg_, true);
    state_ = State::warmed;
  } else if (reader.state() == ResponseState::malformed) {
    failed();
  }
}

}  // namespace lastcall::router
