#include "router/own_question.hpp"

#include <utility>

#include "base/clock.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

void OwnQuestion::ask(std::shared_ptr<Worker> const& worker, Message message,
                      std::chrono::milliseconds patience, Done done) {
  drop();
  body_ = std::move(message.body);
  asked_ = message.asked;
  done_ = std::move(done);
  leg_ = Leg::begin(
      parts_, *this, worker,
      {.head = std::move(message.head), .body = body_, .awaits = Awaits::whole_answer, .work = {}});
  // Without a connection it gives up in the next turn.
  parts_.alarms.set(*this,
                    monotonic_time() + (leg_ ? patience : std::chrono::milliseconds::zero()));
}

void OwnQuestion::drop() {
  parts_.alarms.clear(*this);
  Leg::end(leg_, false);
  answer_ = WholeAnswer(most_);
  done_ = nullptr;
}

void OwnQuestion::end(bool keep) {
  parts_.alarms.clear(*this);
  Leg::end(leg_, keep);
  WholeAnswer const answer = std::exchange(answer_, WholeAnswer(most_));
  if (Done const done = std::exchange(done_, nullptr)) {
    done(answer);
  }
}

void OwnQuestion::give_up() {
  answer_ = WholeAnswer(most_);
  end(false);
}

void OwnQuestion::leg_response(Leg& leg, std::span<char> bytes) {
  WholeAnswer::State const state = answer_.take(leg.reader(), bytes, asked_);
  if (state == WholeAnswer::State::broken) {
    give_up();
  } else if (state == WholeAnswer::State::whole) {
    end(true);
  }
}

void OwnQuestion::leg_ended(Leg& leg, bool orderly) {
  if (answer_.ended(leg.reader(), orderly)) {
    end(false);
  } else {
    give_up();
  }
}

}  // namespace lastcall::router
