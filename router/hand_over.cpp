#include "router/hand_over.hpp"

#include <array>
#include <optional>
#include <utility>

#include "relay/first_byte.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

using continuation::Said;
using relay::ResponseState;

namespace {

constexpr unsigned kTakesOver = 200;

}  // namespace

void HandOver::look(Leg& old, bool drains) {
  if (drains && state_ == State::idle) {
    Time const now = ingress::monotonic_now();
    parts_.fleet.failed(*old.worker(), now);
    bool const may_move =
        risk_.moved("hand_off", *old.worker(), true, now) == continuation::Refused::no;
    state_ = may_move ? State::wanted : State::idle;
  }
  if (state_ == State::wanted) {
    std::array const tried{old.worker()->id()};
    to_ = parts_.fleet.choose(call_.to_go_on(*seam_.known()), tried, ingress::monotonic_now());
    std::optional<std::string> body = to_ ? seam_.warming_body(call_.modes.of(*to_)) : std::nullopt;
    if (!body) {
      to_.reset();  // ids and text are not level just now, or nobody is there yet
      return;
    }
    state_ = State::warming;
    body_ = std::move(*body);
    begin_leg("-w", body_);
  } else if (state_ == State::warmed && old.sent().is_all_out() &&
             seam_.cut(call_.modes.of(*to_))) {
    state_ = State::holding;
    begin_leg("-m" + std::to_string(seam_.moves()), seam_.body(call_));
  } else if (state_ == State::holding && !seam_.is_holding()) {
    drop();  // the old leg has said all, or too much
  }
}

void HandOver::begin_leg(std::string_view suffix, std::string_view body) {
  leg_ = Leg::begin(parts_, *this, to_,
                    {.head = call_.head_of_leg(suffix, true, state_ == State::holding),
                     .body = body,
                     .awaits = Awaits::events,
                     .fresh = false,
                     .load = {}});
  if (!leg_) {
    failed();
  }
}

void HandOver::drop() {
  Leg::end(leg_, false);
  to_.reset();
  state_ = State::idle;
}

void HandOver::flushed() {
  if (leg_) {
    leg_->resume();
  }
}

/// It is as if nobody had tried.
void HandOver::failed() {
  bool const was_holding = state_ == State::holding;
  drop();
  if (was_holding && seam_.is_holding()) {
    std::string out;
    Said const said = seam_.release(out).said;
    owner_.hand_over_ended(nullptr, said, out);
  }
}

void HandOver::leg_is_late(Leg& leg, Late /*how*/) {
  parts_.fleet.failed(*leg.worker(), ingress::monotonic_now());
  failed();
}

void HandOver::leg_ended(Leg& /*leg*/, bool /*orderly*/) {
  failed();
}

void HandOver::leg_response(Leg& leg, std::span<char> bytes) {
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
  continuation::Heard heard;
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    heard = seam_.heard_next(reader.read_body(bytes), out);
  }
  if (heard.verified) {
    std::unique_ptr<Leg> next = std::move(leg_);
    drop();
    owner_.hand_over_ended(std::move(next), heard.said, out);
  } else if (!seam_.is_holding()) {
    drop();
    owner_.hand_over_ended(nullptr, heard.said, out);
  } else if (reader.state() >= ResponseState::complete) {
    failed();
  }
}

/// What it says is thrown away; its end says that the prompt is in the worker's cache.
void HandOver::warmed(std::span<char> bytes) {
  relay::ResponseReader& reader = leg_->reader();
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    reader.read_body(bytes);
  }
  if (reader.state() == ResponseState::complete) {
    Leg::end(leg_, reader.keeps_alive());
    state_ = State::warmed;
  } else if (reader.state() == ResponseState::malformed) {
    failed();
  }
}

}  // namespace lastcall::router
