#include "ingress/relayed_request.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/json_writer.hpp"
#include "ingress/client_connection.hpp"
#include "ingress/proxy_parts.hpp"
#include "relay/head_writer.hpp"

namespace lastcall::ingress {
namespace {

using lifecycle::Outcome;

constexpr std::size_t kMostForEngine = std::size_t{64} * 1024;
/// The measured memory of a request, with its connection to the engine and what the core knows of
/// it.
constexpr std::size_t kAround = std::size_t{2} * 1024;

/// Returns the value of the field; empty if the field is not there exactly once.
std::string_view only(relay::Fields const& fields, std::string_view name) {
  std::string_view value;
  return fields.count(name, value) == 1 ? value : std::string_view();
}

/// A comment may be between two events, and before the first.
bool takes_comment(relay::Delivery const& delivery) {
  return delivery.is_in_body() && delivery.is_event_stream() &&
         delivery.coding() == relay::Delivery::Coding::chunked &&
         delivery.events().at() == relay::EventStream::At::boundary;
}

/// Whether the process was not running: the report of an engine's death may have waited on its
/// socket meanwhile.
bool came_late(Deadline const& deadline) {
  constexpr std::chrono::milliseconds kAbsence{500};
  return monotonic_time() - deadline.at() > kAbsence;
}

}  // namespace

RelayedRequest::RelayedRequest(ProxyParts& parts, Client const& client,
                               relay::TakenHead const& taken, relay::EndpointName const& endpoint)
    : parts_(parts),
      client_(&client.owner),
      place_(client.place),
      waiting_(parts.waiting_bytes),
      exchange_(parts.requests.unique_id(only(taken.head.fields, "x-request-id"), endpoint.counts),
                taken.framing, taken.asked),
      counted_(parts, exchange_, endpoint),
      charge_(parts.memory) {
  if (counts()) {
    parts_.requests.enter(*this);
  }
}

void RelayedRequest::prepare(relay::TakenHead const& taken, Client const& client) {
  counted_.describe(taken.head, taken.destination.target, client.address);
  relay::RequestSide& request = exchange_.request();
  // A client that asks before it sends its body need not send one that will be refused.
  bool const is_in_vain = taken.asked.expects_continue && parts_.departure.is_refusing();
  if (counts() && !request.is_done() && !is_in_vain) {
    request.look();
  }
  relay::write_request_head(request.to_engine().bytes(), taken.head, taken.destination,
                            {.request_id = exchange_.id(),
                             .way = counted_.way(),
                             .client = client.address,
                             .scheme = client.scheme,
                             .is_proxy = client.is_proxy,
                             .keeps_underscores = parts_.options.keeps_underscores,
                             .upgrade = taken.asked.is_upgrade,
                             .body = taken.framing});
  await_request();
}

void RelayedRequest::start() {
  if (!exchange_.request().is_looking()) {
    begin();
  }
}

// --- what its client sends -----------------------------------------------------------------------

bool RelayedRequest::takes_body() const {
  return !exchange_.request().is_done() && !exchange_.delivery().is_over();
}

bool RelayedRequest::wants_input() const {
  bool const has_room = exchange_.request().to_engine().waiting() < kMostForEngine ||
                        (is(Standing::waits) && waiting_.has_room() && !parts_.memory.is_tight());
  return takes_body() && has_room;
}

bool RelayedRequest::is_tunnel() const {
  return exchange_.delivery().state() == relay::DeliveryState::tunnel;
}

bool RelayedRequest::needs_its_client() const {
  return counts() && exchange_.delivery().state() < relay::DeliveryState::tunnel;
}

std::size_t RelayedRequest::unfinished() const {
  return exchange_.request().is_done() ? 0 : exchange_.request().to_engine().size();
}

std::size_t RelayedRequest::take(std::span<char> bytes) {
  relay::RequestSide& request = exchange_.request();
  relay::RequestSide::Taken const taken =
      request.take(bytes, parts_.poller.now(),
                   {.body = parts_.options.max_body,
                    .silence = parts_.options.waits[static_cast<std::size_t>(Wait::body)]});
  if (taken.fault) {
    break_off(relay::bad_request(taken.fault.status, taken.fault.what), Outcome::error);
    return 0;
  }
  if (is(Standing::waits)) {
    waiting_.add(taken.used);
  } else if (request.is_looking()) {
    await_request();
    if (request.has_enough()) {
      begin();
    }
  } else if (leg_ != nullptr && leg_->is_connected()) {
    send_request();
    await_next();
  }
  return taken.used;
}

void RelayedRequest::client_ended_tunnel() {
  exchange_.request().client_ended();
  pass_on_the_end();
  await_next();
}

// --- its place, and its way to the engine --------------------------------------------------------

void RelayedRequest::begin() {
  exchange_.request().pause();
  Admission const admission = counted_.ask();
  switch (admission.kind) {
    case Admission::Kind::admitted:
      connect();
      return;
    case Admission::Kind::waits:
      client_->connection().wait_for_nothing();
      return;
    case Admission::Kind::refused:
      refuse(admission.refusal);
      return;
  }
}

void RelayedRequest::admitted() {
  if (counted_.granted()) {
    connect();
    if (client_ != nullptr && !client_->connection().is_closed()) {
      // The rest of a large body may be read now; a connection from the pool does not report that
      // it has room.
      client_->connection().read_more();
      client_->weigh();
    }
  }
}

void RelayedRequest::rejected(relay::Refusal const& refusal) {
  if (counted_.refused()) {
    refuse(refusal);
  }
}

void RelayedRequest::connect() {
  leg_ = parts_.engine.acquire(exchange_.request().to_engine().was_repeated());
  if (leg_ == nullptr) {
    connect_failed();
    return;
  }
  leg_->carry(*this);
  parts_.deadlines.arm(total_, Wait::total);
  if (leg_->is_connected()) {
    connected();
  } else {
    client_->connection().wait_for(Wait::connect);
  }
}

void RelayedRequest::connected() {
  send_request();
  await_next();
}

void RelayedRequest::connect_failed() {
  parts_.engine.avoid_address(leg_ != nullptr ? leg_->address() : parts_.engine.address());
  if (++failed_addresses_ < parts_.options.upstream.size()) {
    drop_leg();
    connect();
    return;
  }
  break_off(relay::engine_unavailable(), Outcome::error);
}

void RelayedRequest::engine_takes_more() {
  if (!is(Standing::over) && exchange_.request().to_engine().waiting() > 0) {
    send_request();
    pass_on_the_end();
    await_next();
  }
  if (client_ != nullptr && !client_->connection().is_closed()) {
    client_->connection().read_more();  // the client's next bytes may have waited for this
  }
}

void RelayedRequest::send_request() {
  relay::RequestSide& request = exchange_.request();
  relay::ToEngine& out = request.to_engine();
  if (out.unsent().empty()) {
    return;
  }
  bool broken = false;
  out.took(leg_->write(out.unsent(), broken));
  if (broken && is(Standing::left)) {
    end(relay::After::close);
  } else if (broken && exchange_.may_repeat(leg_->was_used())) {
    repeat();
  } else if (broken) {
    out.broke();  // the engine may have answered early, so its answer is still read
    waiting_.release();
  } else if (out.waiting() == 0) {
    bool const is_kept =
        !is(Standing::left) && out.has_to_be_kept(leg_->was_used()) && has_sent_nothing();
    if (is_kept) {
      return;
    }
    if (request.is_done() || waiting_.has_any()) {
      out.forget();
      waiting_.release();
    } else {
      out.clear();
    }
  }
}

void RelayedRequest::repeat() {
  drop_leg();
  exchange_.request().to_engine().repeat();
  connect();
}

/// The client of a tunnel has ended it, so the output to the engine is ended after the client's
/// last bytes. If the connection were closed with unread bytes, it would be reset and those bytes
/// lost. The engine's own end is awaited as long as the end of any client that receives an answer.
void RelayedRequest::pass_on_the_end() {
  if (!is(Standing::over) && exchange_.is_ending_tunnel() &&
      exchange_.request().to_engine().waiting() == 0) {
    leg_->end_output();
  }
}

void RelayedRequest::await_request() {
  client_->connection().wait_for(Wait::body);
  exchange_.request().await(parts_.poller.now());
}

/// If the client has to read something first, a deadline for that is set already.
void RelayedRequest::await_next() {
  bool const waits_for_it = client_ != nullptr && leg_ != nullptr && leg_->is_connected();
  if (!waits_for_it || !client_->connection().is_flushed() || holds()) {
    return;
  }
  switch (exchange_.awaited(wants_input())) {
    case relay::Awaited::request:
      await_request();
      return;
    case relay::Awaited::first_byte:
      client_->connection().wait_for(Wait::first_byte);
      return;
    case relay::Awaited::more:
      client_->connection().wait_for(Wait::idle);
      return;
    case relay::Awaited::tunnel_end:
      client_->connection().wait_for(Wait::ending);
      return;
  }
}

// --- its end -------------------------------------------------------------------------------------

void RelayedRequest::drop_leg() {
  if (leg_ != nullptr) {
    std::exchange(leg_, nullptr)->release(false);
  }
}

/// Sends the refusal instead of a response; nothing was sent yet.
void RelayedRequest::refuse(relay::Refusal const& refusal) {
  drop_leg();
  parts_.tracker.refused(refusal);
  std::string response;
  exchange_.refuse(refusal, *this, response);
  write_and_end(response);
}

void RelayedRequest::write_and_end(std::string_view bytes) {
  client_->connection().write(bytes);
  if (!is(Standing::over) && client_->connection().is_flushed()) {
    end(exchange_.after());
  }
}

void RelayedRequest::cut(relay::Refusal const& refusal, bool at_once) {
  if (is(Standing::left)) {
    // It is cancelled already, because its client has gone; only `at_once` ends it.
    if (at_once) {
      end(relay::After::close);
    }
  } else if (!exchange_.delivery().is_over()) {
    if (!relay::is_whole(exchange_.delivery())) {
      counted_.hand_off(refusal);
    }
    break_off(refusal, Outcome::cancelled);
  } else if (at_once && !refusal.retryable) {
    // Its place is free, and its connection sends the rest of its answer. But a response that a
    // stop cuts is in flight until it was sent: phase 3 waits for that as long as there is time.
    end(relay::After::close);
  }
}

void RelayedRequest::notify_of_cut() {
  relay::Delivery& delivery = exchange_.response().delivery();
  if (!parts_.cut_at || client_ == nullptr || !client_->connection().is_flushed() ||
      !takes_comment(delivery) || !counted_.is_news(*parts_.cut_at)) {
    return;
  }
  std::chrono::milliseconds const left =
      std::max(*parts_.cut_at - monotonic_time(), std::chrono::milliseconds(0));
  std::string comment = ": lastcall-handoff {\"request_id\": ";
  json::append_string(comment, exchange_.id());
  comment.append(", \"deadline_ms\": ").append(std::to_string(left.count())).append("}\n\n");
  std::string wire;
  delivery.emit(comment, {}, wire);
  client_->connection().write(wire);
}

void RelayedRequest::break_off(relay::Refusal const& refusal, Outcome outcome) {
  drop_leg();
  bound_.disarm();
  std::string last;
  relay::Farewell const farewell = exchange_.cut(refusal, outcome, *this, last);
  if (farewell == relay::Farewell::refusal) {
    parts_.tracker.refused(refusal);
  }
  client_->connection().drop_output(farewell);
  write_and_end(last);
}

void RelayedRequest::shed() {
  drop_leg();
  exchange_.cut_silently(Outcome::error);
  client_->connection().drop_output(relay::Farewell::reset);
  end(relay::After::close);
}

void RelayedRequest::client_left(bool has_taken_all) {
  if (must_stay()) {
    leave_to_engine();
    return;
  }
  drop_leg();
  relay::Delivery const& delivery = exchange_.delivery();
  // Many clients close at [DONE], and do not wait for the end of the body.
  bool const has_its_end = has_taken_all && delivery.events().has_sent_done();
  if (counted_.is_tracked() && delivery.state() != relay::DeliveryState::cut && !has_its_end) {
    counted_.client_gone(lifecycle::CancelMode::kill);
  }
  end(relay::After::close);
}

/// Whether the engine has the whole request, or will have it, and may not lose it before its first
/// byte.
bool RelayedRequest::must_stay() const {
  relay::RequestSide const& request = exchange_.request();
  return counted_.asker().defers_cancel && counted_.is_tracked() && !holds() &&
         request.state() == relay::RequestState::complete &&
         request.to_engine().state() != relay::ToEngine::State::broken &&
         exchange_.delivery().state() <= relay::DeliveryState::opened && leg_ != nullptr &&
         leg_->is_connected();
}

/// The client has gone, and this is counted; the request is in flight until the engine has released
/// it.
void RelayedRequest::leave_to_engine() {
  counted_.client_gone(lifecycle::CancelMode::stop);
  parts_.requests.adopt(std::exchange(client_, nullptr)->give_up_request());
  parts_.deadlines.arm(bound_, Wait::left);
  leg_->pump(Upstream::When::next_turn);  // reads the bytes that the client did not take
}

void RelayedRequest::abandon() {
  exchange_.set_outcome(Outcome::cancelled);
  retire();
}

void RelayedRequest::retire() {
  drop_leg();
  total_.disarm();
  bound_.disarm();
  waiting_.release();
  charge_.set(0);
  counted_.end();
}

void RelayedRequest::end(relay::After after) {
  bool const was_left = is(Standing::left);
  retire();
  if (was_left) {
    parts_.poller.bury_unwatched(parts_.requests.release(*this));
  } else {
    std::exchange(client_, nullptr)->ended(after);
  }
}

void RelayedRequest::expired(Wait wait) {
  if (is(Standing::left) || wait == Wait::ending) {
    end(exchange_.after());
  } else if (wait == Wait::held && came_late(bound_)) {
    parts_.deadlines.arm(bound_, Wait::held);
  } else if (wait == Wait::held) {
    let_through();
  } else if (wait == Wait::verdict) {
    engine_lives();
  } else if (wait == Wait::first_byte) {
    break_off(relay::timed_out("the engine did not answer in time", true), Outcome::error);
  } else if (wait == Wait::idle) {
    break_off(relay::timed_out("the engine's response stalled for too long",
                               !exchange_.delivery().has_first_byte()),
              Outcome::error);
  } else {
    break_off(relay::timed_out("the request took too long", false), Outcome::error);
  }
}

void RelayedRequest::handled() {
  if (client_ != nullptr) {
    client_->weigh();
  } else {
    weigh();
  }
}

void RelayedRequest::weigh() {
  if (!is(Standing::over)) {
    charge_.set(sizeof *this + kAround + exchange_.request().to_engine().capacity() +
                exchange_.response().capacity());
  }
}

// --- what the exchange asks the world ------------------------------------------------------------

bool RelayedRequest::engine_may_be_dying() const {
  return counted_.is_tracked() && parts_.tracker.engine_may_be_dying();
}

bool RelayedRequest::is_closing() const {
  return parts_.departure.is_closing(place_);
}

}  // namespace lastcall::ingress
