#include "router/leg.hpp"

#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "router/parts.hpp"
#include "router/request_risk.hpp"

namespace lastcall::router {

using ingress::Wait;

namespace {

/// Whether the leg's connection may carry another request once the response is complete.
bool may_be_kept(Leg& leg) {
  relay::ResponseReader const& reader = leg.reader();
  return reader.keeps_alive() && leg.sent().is_all_out() && !leg.worker()->has_left() &&
         reader.framing().kind != relay::Framing::Kind::until_close;
}

}  // namespace

LegPlace::LegPlace(Parts& parts, std::uint64_t worker, LegWork const& work, Awaits awaits)
    : parts_(parts) {
  place_.take(parts.pacing, worker, work);
  if (awaits == Awaits::whole_answer) {
    parts.alarms.set(*this, monotonic_time() + kSurvived);
  }
}

LegPlace::~LegPlace() {
  parts_.alarms.clear(*this);
}

std::unique_ptr<Leg> Leg::begin(Parts& parts, LegListener& listener,
                                std::shared_ptr<Worker> const& worker, Message message) {
  ingress::Upstream* const connection = parts.connections.acquire(*worker, message.fresh);
  if (connection == nullptr) {
    return nullptr;
  }
  parts.fleet.began(*worker);
  LegWork const work = message.work;
  auto leg = std::make_unique<Leg>(parts, listener, worker, *connection, std::move(message));
  if (work.kind != LegWork::Kind::usual) {
    leg->place_ = std::make_unique<LegPlace>(parts, worker->id(), work, leg->awaits());
  }
  connection->carry(*leg);
  if (connection->is_connected()) {
    leg->connected();
  } else {
    connection->wait_for(Wait::connect);
  }
  return leg;
}

void Leg::end(std::unique_ptr<Leg>& leg, bool keep) {
  if (!leg) {
    return;
  }
  std::unique_ptr<Leg> ended = std::move(leg);
  Parts& parts = ended->parts_;
  ended->leave();
  bool const is_whole = ended->reader_.state() == relay::ResponseState::complete;
  ended->connection_.release(keep && is_whole && may_be_kept(*ended));
  parts.connections.swept(*ended->worker_);
  parts.poller.bury_unwatched(std::move(ended));
}

void Leg::end_before_last_bytes(std::unique_ptr<Leg>& leg) {
  if (!may_be_kept(*leg)) {
    end(leg, false);
    return;
  }
  std::unique_ptr<Leg> ended = std::move(leg);
  Parts& parts = ended->parts_;
  ended->leave();
  parts.last_bytes.await(ended->connection_, std::move(ended->reader_), ended->worker_);
  parts.poller.bury_unwatched(std::move(ended));
}

void Leg::leave() {
  parts_.stalls.leave(*this);
  place_.reset();
  parts_.fleet.ended(*worker_);
}

Leg::Leg(Parts& parts, LegListener& listener, std::shared_ptr<Worker> worker,
         ingress::Upstream& connection, Message message)
    : SilentStream(message.awaits),
      parts_(parts),
      listener_(&listener),
      worker_(std::move(worker)),
      connection_(connection),
      out_(std::move(message.head), message.body, std::move(message.own_body)) {}

void Leg::connected() {
  connection_.wait_for(std::nullopt);
  parts_.stalls.enter(*this, worker_);
  if (listener_->takes_response()) {
    await();
  } else {
    rest();
  }
  out_.write_to(connection_);
}

void Leg::await() {
  bool const has_head = reader_.state() != relay::ResponseState::head;
  connection_.wait_for(has_head ? Wait::idle : Wait::first_byte);
}

void Leg::connect_failed() {
  parts_.connections.avoid(*worker_, connection_.address());
  parts_.probes.doubt(*worker_);
  if (place_) {
    place_->withdraw();
  }
  listener_->leg_is_late(*this, Late::unreachable);
}

void Leg::response(std::span<char> bytes) {
  if (awaits() == Awaits::whole_answer) {
    speak(monotonic_time());  // its bytes are relayed as they come: nobody looks for events in them
  }
  listener_->leg_response(*this, bytes);
}

void Leg::await_next(bool progress) {
  await();
  if (progress) {
    speak(parts_.poller.now());
    place_.reset();
  }
}

void Leg::rest() {
  if (connection_.is_connected()) {
    connection_.wait_for(std::nullopt);
    pause();
  }
}

void Leg::resume() {
  if (is_paused()) {
    go_on(monotonic_time());
    await();
  }
  connection_.pump();
}

void Leg::expired(Wait wait) {
  if (wait == Wait::connect) {
    connect_failed();
  } else if (wait == Wait::first_byte) {
    listener_->leg_is_late(*this, Late::no_head);
  } else {
    listener_->leg_is_late(*this, Late::idle);
  }
}

void Leg::is_silent() {
  if (awaits() == Awaits::whole_answer) {
    parts_.stalls.stays(*this);  // unless its listener ends it
    if (reader_.has_nothing()) {
      listener_->leg_is_late(*this, Late::beside);
    } else if (reader_.state() == relay::ResponseState::body) {
      listener_->leg_is_late(*this, worker_->has_left() ? Late::gone : Late::stalled);
    }
  } else if (reader_.state() == relay::ResponseState::head) {
    listener_->leg_is_late(*this, Late::no_head);
  } else {
    listener_->leg_is_late(*this, worker_->has_left() ? Late::gone : Late::stalled);
  }
}

}  // namespace lastcall::router
