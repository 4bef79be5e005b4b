#include "router/own_question.hpp"

#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/text.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

struct OwnQuestion::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
  unsigned number = 0;  // number of the question
};

OwnQuestion::OwnQuestion(boost::asio::io_context& io, Parts& parts, std::size_t most)
    : parts_(parts), most_(most), answer_(most), timer_(std::make_shared<Timer>(io)) {}

OwnQuestion::~OwnQuestion() {
  drop();
}

void OwnQuestion::ask(std::shared_ptr<Worker> const& worker, Message message,
                      std::chrono::milliseconds patience, Done done) {
  drop();
  body_ = std::move(message.body);
  done_ = std::move(done);
  std::string const id = "lastcall-probe-" + parts_.ids.make();
  std::string head = body_.empty() ? "GET " : "POST ";
  head.append(message.path).append(" HTTP/1.1\r\nHost: ");
  if (std::optional<config::Url> const url = config::parse_url(worker->url())) {
    head.append(config::to_text(url->address));
  }
  head.append("\r\nContent-Type: application/json\r\nX-Lastcall-Probe: 1\r\n");
  head.append(message.more);
  head.append("X-Lastcall-Parent: router/").append(id);
  head.append("\r\nX-Request-Id: ").append(id).append("\r\n");
  leg_ = Leg::begin(
      parts_, *this, worker,
      {.head = std::move(head), .body = body_, .awaits = Awaits::whole_answer, .work = {}});
  timer_->timer.expires_after(leg_ ? patience : std::chrono::milliseconds::zero());
  // The handler of an expired timer runs even if another question was asked in the meantime.
  timer_->timer.async_wait([this, still = std::weak_ptr<Timer>(timer_),
                            number = timer_->number](boost::system::error_code const& error) {
    std::shared_ptr<Timer> const timer = still.lock();
    if (timer && !error && timer->number == number) {
      give_up();
    }
  });
}

void OwnQuestion::drop() {
  ++timer_->number;
  timer_->timer.cancel();
  Leg::end(leg_, false);
  answer_ = WholeAnswer(most_);
  done_ = nullptr;
}

void OwnQuestion::end(bool keep) {
  ++timer_->number;
  timer_->timer.cancel();
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

void OwnQuestion::leg_is_late(Leg& /*leg*/, Late /*how*/) {
  give_up();
}

void OwnQuestion::leg_response(Leg& leg, std::span<char> bytes) {
  WholeAnswer::State const state = answer_.take(leg.reader(), bytes, relay::Asked{});
  if (state == WholeAnswer::State::broken) {
    give_up();
  } else if (state == WholeAnswer::State::whole) {
    end(leg.reader().keeps_alive());
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
