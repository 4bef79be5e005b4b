#include "router/legs.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "ingress/client_connection.hpp"
#include "relay/first_byte.hpp"
#include "router/large_bodies.hpp"
#include "router/no_worker.hpp"
#include "router/parts.hpp"
#include "router/room.hpp"
#include "router/routed_request.hpp"
#include "router/verdict.hpp"

namespace lastcall::router {

using ingress::Wait;
using lifecycle::Outcome;
using relay::ResponseState;

namespace {

using continuation::Progress;
using continuation::Refused;

/// A server answers fields that it does not know with 400, or with 422 if it validates a schema.
constexpr bool is_malformed_request(unsigned status) {
  return status == 400 || status == 422;
}

/// Whether a worker refuses the request with this status and would refuse it again.
constexpr bool is_no(unsigned status) {
  return status >= 400 && status < 500 && status != 408 && status != 429;
}

bool until_close(Leg& leg) {
  return leg.reader().framing().kind == relay::Framing::Kind::until_close;
}

/// In the middle of a response, the worker is at fault.
void blame(Parts& parts, Leg& leg) {
  parts.fleet.failed(*leg.worker(), monotonic_time());
}

LegWork work_of(Seam& seam, RequestRisk const& risk, Call const& call) {
  if (seam.moves() == 0 && !risk.is_suspect() && !risk.has_lost_engine()) {
    return {};
  }
  return {.kind = risk.is_suspect() ? LegWork::Kind::suspect : LegWork::Kind::continues,
          .tokens = tokens_of(seam, call)};
}

/// Whether the engine had begun with the answer. One that comes in one piece shows that only by the
/// time that it takes.
Begun begun(Seam const& seam, RequestRisk const& risk, Time now) {
  if (seam.is_recording()) {
    return seam.has_begun() ? Begun::yes : Begun::no;
  }
  return risk.is_survived(now) ? Begun::perhaps : Begun::no;
}

/// Returns the refusal that the client gets if the worker's connection broke before its answer was
/// whole, and no other worker continues it. A request that the router itself would repeat may be
/// repeated by its client, too, because this router recognizes a request that ended an engine
/// (request_risk.hpp).
relay::Refusal broken(Call const& call) {
  return call.route.repeat == Repeat::always ? relay::cut_by(lifecycle::CancelReason::engine_dead)
                                             : relay::engine_failed();
}

relay::Refusal stood_still() {
  return relay::timed_out("the worker's response stalled for too long", false);
}

/// The end that the client gets if its answer is not continued.
relay::Refusal not_continued(Call const& call, Seam const& seam) {
  using lifecycle::CancelReason;
  std::string_view const cause = seam.cause();
  // A request with which two engines have died must not be sent again: the type is not retryable.
  bool const may_come_again = seam.why_not() != continuation::label(Refused::engine_died_twice) &&
                              seam.why_not() != continuation::label(Refused::poison);
  relay::Refusal refusal = cause.empty() ? relay::no_memory() : relay::engine_failed();
  if (may_come_again && cause == "engine_dead") {
    refusal = relay::cut_by(CancelReason::engine_dead);
  } else if (may_come_again && (cause == "migrated" || cause == kHandOff)) {
    refusal = relay::cut_by(CancelReason::migrate);
  } else if (cause == kStall || cause == kGone) {
    refusal = stood_still();
  } else if (may_come_again && cause == "eof") {
    refusal = broken(call);
  } else if (may_come_again && cause == "retryable") {
    refusal = {503, "engine_error", "the engine failed; send the request again", true, {}};
  }
  refusal.reason = seam.why_not();
  return refusal;
}

/// Called when the worker does not accept the added fields: from now on the body is the client's
/// own. Returns false if nothing was added.
bool has_given_up_additions(Call& call, Seam const& seam) {
  if (!seam.is_recording() || seam.moves() > 0 || call.modes.are_plain) {
    return false;
  }
  call.modes.are_plain = true;
  return continuation::adds_to(seam.known()->request, seam.mode());
}

/// The workers that may have the next leg.
Fleet::Wanted next_of(Call const& call, Seam const& seam) {
  return seam.moves() > 0 ? call.to_go_on(*seam.known()) : call.to_choose();
}

/// Whether the answer must continue and there are workers, but none of them can continue it.
bool fits_nobody(Parts& parts, Call const& call, Seam const& seam) {
  return !call.has_sent_nothing() && parts.fleet.knows(call.wanted.model) &&
         !parts.fleet.choose(next_of(call, seam), {}, monotonic_time());
}

/// A leg's pace counts from its first text.
void note_pace(Call& call, Seam const& seam) {
  if (call.pace.moves != seam.moves() && seam.has_begun()) {
    call.pace = {.since = monotonic_time(),
                 .made = continuation::as_tokens(seam.story().known().transcript.count().about()),
                 .moves = seam.moves()};
  }
}

/// Whether a request that a worker has answered with `verdict` may be repeated, and there is a
/// worker for it.
bool may_ask_another(Call const& call, Attempts const& attempts, Verdict verdict) {
  Repeat const repeat = call.route.repeat;
  bool const is_allowed =
      repeat == Repeat::always || (repeat == Repeat::unless_begun && verdict == Verdict::refused);
  return is_allowed && attempts.are_left(call.parts.settings.choosing.attempts) &&
         call.parts.fleet.choose(call.to_choose(), attempts.tried(), monotonic_time());
}

/// The worker is being left, so its announcement says nothing about the next one.
void drop_hand_off(MoveState* leave) {
  if (leave != nullptr) {
    leave->hint.reset();
  }
  if (leave != nullptr && leave->hand_off) {
    leave->hand_off->drop();
  }
}

MoveState& ensured(std::unique_ptr<MoveState>& leave) {
  if (!leave) {
    leave = std::make_unique<MoveState>();
  }
  return *leave;
}

/// No other worker gets the request: the client gets `last` if nothing was sent, otherwise an end
/// with the reason.
void give_up(RoutedRequest& request, Call const& call, Seam& seam, Refused why,
             relay::Refusal const& last) {
  seam.give_up(why);
  request.break_off(call.has_sent_nothing() ? last : not_continued(call, seam), Outcome::error);
}

}  // namespace

Legs::Legs(RoutedRequest& request, Call& call)
    : request_(request),
      call_(call),
      budget_{.attempts = {}, .risk = RequestRisk(call), .total = nullptr},
      answer_(call) {}

TotalWait::TotalWait(Parts& parts, RoutedRequest& request) : request_(request) {
  parts.deadlines.arm(deadline_, Wait::total);
}

void TotalWait::expired(Wait /*wait*/) {
  request_.break_off(relay::timed_out("the request took too long", false), Outcome::error);
}

void Legs::start() {
  if (call_.parts.settings.timeouts.total) {
    budget_.total = std::make_unique<TotalWait>(call_.parts, request_);
  }
  if (!budget_.risk.begin(monotonic_time())) {
    request_.refuse(poisonous());
    return;
  }
  call_.modes = {.by = call_.parts.settings.migration.by,
                 .endpoint = continuation::endpoint_of(call_.route.endpoint())};
  if (has_memory_for([this] { seam().begin(call_); })) {
    go_to_another(no_worker());
  } else {
    request_.refuse(relay::no_memory());
  }
}

void Legs::drop() {
  if (budget_.total) {
    budget_.total->end();
  }
  drop_hand_off(move_.get());
  if (move_ && move_->proof) {
    move_->proof->drop();
  }
  answer_.drop();
  call_.parts.waiting.leave(*this);
  Leg::end(leg_, false);
}

// --- the way to a worker -------------------------------------------------------------------------

Waiter::Tried Legs::choose_and_connect(bool ignores_turns) {
  while (budget_.attempts.are_left(call_.parts.settings.choosing.attempts)) {
    Fleet::Wanted wanted = next_of(call_, seam());
    // A request that has no answer yet asks each worker once, so it does not need turns.
    wanted.waits = budget_.attempts.has_waited() && !call_.has_sent_nothing() && !ignores_turns;
    auto const [worker, is_full] = find_room(
        call_.parts, wanted, work_of(seam(), budget_.risk, call_), budget_.attempts.tried());
    if (!worker) {
      return is_full ? Tried::no_room : Tried::refused;
    }
    if (!call_.has_sent_nothing()) {
      worker->note_trial(monotonic_time());
    }
    budget_.attempts.note(*worker);
    if (budget_.attempts.count() > 1 && call_.has_sent_nothing()) {
      call_.parts.metrics.asked_another(call_.label());
    }
    if (connect_to(worker, call_.route.repeat != Repeat::always)) {
      return Tried::gone;
    }
    call_.parts.fleet.failed(*worker, monotonic_time());
    call_.parts.metrics.failed_over(Failover::unreachable);
  }
  return Tried::refused;
}

void Legs::go_to_another(relay::Refusal const& last) {
  Tried const tried = choose_and_connect();
  if (tried == Tried::gone) {
    return;
  }
  if (tried == Tried::refused && call_.has_sent_nothing()) {
    request_.refuse(last);
    return;
  }
  if (fits_nobody(call_.parts, call_, seam())) {
    give_up(request_, call_, seam(), Refused::worker_cannot, no_worker());
    return;
  }
  if (call_.has_sent_nothing()) {
    budget_.attempts.wait_until(monotonic_time() + call_.parts.settings.migration.wait);
  }
  call_.parts.waiting.enter(*this, call_.wanted.model, work_of(seam(), budget_.risk, call_));
}

Waiter::Tried Legs::try_again() {
  if (!seam().has_begun() && budget_.risk.is_poison(monotonic_time())) {
    give_up(request_, call_, seam(), Refused::poison, poisonous());
    return Tried::gone;
  }
  if (!budget_.attempts.may_wait(monotonic_time())) {
    request_.break_off(no_worker(), Outcome::error);
    return Tried::gone;
  }
  budget_.attempts.note_wait();
  Tried const tried = choose_and_connect();
  if (tried == Tried::refused && call_.has_sent_nothing()) {
    request_.refuse(no_worker());
    return Tried::gone;
  }
  if (tried == Tried::refused && fits_nobody(call_.parts, call_, seam())) {
    give_up(request_, call_, seam(), Refused::worker_cannot, no_worker());
    return Tried::gone;
  }
  if (tried == Tried::refused) {
    budget_.attempts.ask_all();
  }
  return tried;
}

/// `fresh`: the worker may be closing a kept connection at this moment, and then it is unknown
/// whether it has read the request. Returns true if the leg has begun, or if the request is over
/// because there was no memory for its body.
bool Legs::connect_to(std::shared_ptr<Worker> const& worker, bool fresh) {
  std::string own_body;
  bool is_prepared = false;
  auto const prepare = [&] { is_prepared = seam().prepare(call_.modes.of(*worker), own_body); };
  if (!has_memory_for(prepare)) {
    give_up(request_, call_, seam(), Refused::memory, relay::no_memory());
    return true;
  }
  answer_.leg_begins();
  if (!is_prepared) {
    return false;
  }
  if (!budget_.attempts.has_crossed(*worker)) {  // otherwise it had the request before
    budget_.risk.sent(monotonic_time());
  }
  unsigned const moves = seam().moves();
  std::string const suffix = moves > 0 ? "-m" + std::to_string(moves) : "";
  LegWork const work = work_of(seam(), budget_.risk, call_);
  leg_ = Leg::begin(call_.parts, *this, worker,
                    {.head = head_of_leg(call_, {.suffix = suffix,
                                                 .is_recorded = seam().is_recording(),
                                                 .goes_on = work.kind == LegWork::Kind::continues}),
                     .body = call_.body.text(),
                     .own_body = std::move(own_body),
                     .awaits = seam().is_recording() ? Awaits::events : Awaits::whole_answer,
                     .fresh = fresh,
                     .work = work});
  return leg_ != nullptr;
}

void Legs::leg_is_late(Leg& leg, Late how) {
  switch (how) {
    case Late::unreachable:
      replace_leg(Failover::unreachable, no_worker());
      return;
    case Late::no_head:
      replace_leg(Failover::timed_out, relay::timed_out("no worker answered in time", true));
      return;
    case Late::beside: {
      // The request is repeated if another worker can be asked; otherwise this worker may still
      // recover.
      Time const now = monotonic_time();
      std::array const here{leg.worker()->id()};
      if (call_.route.repeat == Repeat::always &&
          call_.parts.fleet.choose(call_.to_choose(), here, now) && budget_.risk.may_repeat()) {
        budget_.attempts.begin_again(*leg.worker(), now + call_.parts.settings.migration.wait);
        replace_leg(Failover::stalled, no_worker());
      }
      return;
    }
    case Late::idle:
    case Late::stalled:
    case Late::gone:
      if (seam().is_holding()) {
        std::string wire;
        settle(answer_.leg_ended(wire), wire);
      } else if (answer_.is_recorded()) {
        migrate(how == Late::gone ? kGone : kStall);
      } else {
        blame(call_.parts, leg);
        request_.break_off(stood_still(), Outcome::error);
      }
      return;
  }
}

void Legs::replace_leg(Failover why, relay::Refusal const& last) {
  bool const is_allowed = call_.route.repeat == Repeat::always || !leg_->sent().has_begun();
  std::shared_ptr<Worker> const worker = leg_->worker();
  Time const now = monotonic_time();
  Refused limit = Refused::no;
  bool const is_dead = why == Failover::unreachable && budget_.attempts.has_crossed(*worker);
  bool const is_malformed = leg_->reader().state() == ResponseState::malformed;
  bool const is_broken = why == Failover::broken && !is_malformed;
  if (is_dead || (is_broken && leg_->sent().is_all_out())) {
    limit = budget_.risk.died(*worker, begun(seam(), budget_.risk, now), now);
  } else if ((why == Failover::timed_out || is_malformed) && !budget_.risk.may_repeat()) {
    limit = Refused::budget;
  }
  call_.parts.fleet.failed(*worker, now);
  call_.parts.metrics.failed_over(why);
  call_.parts.log.debug(
      "a worker was replaced before its first byte",
      {{"request_id", call_.id()}, {"worker", worker->url()}, {"reason", name(why)}});
  Leg::end(leg_, false);
  if (limit != Refused::no) {
    give_up(request_, call_, seam(), limit, limit == Refused::budget ? last : poisonous());
  } else if (is_allowed) {
    go_to_another(last);
  } else {
    request_.refuse(last);
  }
}

// --- going on elsewhere --------------------------------------------------------------------------

void Legs::migrate(std::string_view reason) {
  drop_hand_off(move_.get());
  std::shared_ptr<Worker> const worker = leg_->worker();
  call_.parts.fleet.failed(*worker, monotonic_time());
  Leg::end(leg_, false);
  MoveCause const cause{
      .worker = worker,
      .reason = reason,
      .limit = budget_.risk.moved(reason, *worker, seam().has_begun(), monotonic_time())};
  std::unique_ptr<LevelProof>& proof = ensured(move_).proof;
  if (!proof) {
    proof = std::make_unique<LevelProof>(call_.parts, call_, seam(), *this);
  }
  if (!proof->begin(cause)) {
    proof.reset();
    proof_ended(cause);
  }
}

/// An answer that has left its worker continues at another one, or ends.
void Legs::proof_ended(MoveCause const& cause) {
  auto const& [worker, reason, limit] = cause;
  std::string out;
  Seam::Going going = Seam::Going::refused;
  if (!has_memory_for([&] { going = seam().go_on(call_, reason, limit, out); })) {
    seam().give_up(Refused::memory);
  }
  call_.parts.metrics.migrated(call_.label(), reason, seam().why_not());
  call_.parts.log.info("an answer lost its worker: it continues at another one, or ends",
                       {{"request_id", call_.id()},
                        {"worker", worker->url()},
                        {"reason", reason},
                        {"why_not", seam().why_not()}});
  std::string wire;
  call_.delivery.emit(out, {}, wire);
  Moving const kind = moving_for(reason);
  if (call_.moving) {
    call_.parts.metrics.moved(*call_.moving, Moved::failed);
  }
  call_.moving = going == Seam::Going::on ? std::optional(kind) : std::nullopt;
  switch (going) {
    case Seam::Going::on:
      request_.client()->connection().write(wire);
      if (request_.client() != nullptr) {
        budget_.attempts.begin_again(*worker,
                                     monotonic_time() + call_.parts.settings.migration.wait);
        go_to_another(no_worker());
      }
      return;
    case Seam::Going::finished:
      call_.parts.metrics.moved(kind, Moved::finished);
      call_.delivery.finish(wire);
      request_.write_and_end(wire);
      return;
    case Seam::Going::refused:
      call_.parts.metrics.moved(kind, Moved::refused);
      request_.break_off(not_continued(call_, seam()), Outcome::error);
      return;
  }
}

// --- the way of the response ---------------------------------------------------------------------

bool Legs::takes_response() const {
  return request_.client() != nullptr && request_.client()->connection().is_flushed();
}

void Legs::leg_handled() {
  ingress::RequestOwner* const client = request_.client();
  if (client != nullptr && !(answer_.is_steady() && client->connection().is_flushed())) {
    client->weigh();
    answer_.weighed();
  }
}

void Legs::flushed() {
  if (move_ && move_->hand_off) {
    move_->hand_off->flushed();
  }
  if (leg_) {
    leg_->resume();
  }
}

/// Passes the answer on by returning false, or sends the request to another worker.
bool Legs::replace_answer(relay::ResponseHead const& head) {
  Verdict const verdict = verdict_of(head);
  if (!call_.has_sent_nothing() && (head.status != kOkStatus || !relay::is_event_stream(head))) {
    if (verdict != Verdict::answer || !is_no(head.status)) {
      replace_leg(Failover::refused, no_worker());
      return true;
    }
    // The worker would give the same answer again, and it is as suitable as before for other
    // requests.
    call_.parts.metrics.failed_over(Failover::refused);
    Leg::end(leg_, false);
    Tried const tried = choose_and_connect(true);
    if (tried == Tried::no_room) {  // the worker that may accept it has enough to compute now
      call_.parts.waiting.enter(*this, call_.wanted.model, work_of(seam(), budget_.risk, call_));
    } else if (tried != Tried::gone) {
      give_up(request_, call_, seam(), Refused::worker_cannot, no_worker());
    }
    return true;
  }
  if (is_malformed_request(head.status) && call_.has_sent_nothing() &&
      has_given_up_additions(call_, seam())) {
    std::shared_ptr<Worker> const worker = leg_->worker();
    Leg::end(leg_, false);
    call_.parts.probes.doubt(*worker);
    if (!connect_to(worker, true)) {
      go_to_another(no_worker());
    }
    return true;
  }
  if (verdict == Verdict::answer) {
    call_.parts.fleet.answered(*leg_->worker());
    return false;
  }
  if (verdict != Verdict::broke) {
    call_.parts.fleet.failed(*leg_->worker(), monotonic_time());
  } else if (budget_.attempts.is_believed()) {
    return false;
  }
  if (verdict == Verdict::engine_died) {
    Time const now = monotonic_time();
    Refused const limit = budget_.risk.died(*leg_->worker(), begun(seam(), budget_.risk, now), now);
    if (limit != Refused::no) {
      give_up(request_, call_, seam(), limit, poisonous());
      return true;
    }
  }
  if (!may_ask_another(call_, budget_.attempts, verdict) ||
      (verdict == Verdict::broke && !budget_.risk.may_repeat())) {
    return false;
  }
  call_.parts.metrics.failed_over(Failover::refused);
  Leg::end(leg_, false);
  go_to_another(no_worker());
  return true;
}

/// Returns true if the leg still exists; `bytes` then holds the rest of its bytes.
bool Legs::read_head(std::span<char>& bytes, std::string& wire) {
  relay::ReadHead read;
  if (!leg_->reader().read_head(bytes, call_.asked, read)) {
    if (leg_->reader().state() == ResponseState::malformed) {
      replace_leg(Failover::broken, relay::malformed_response());
    }
    return false;
  }
  if (read.head.status >= kOkStatus) {
    if (replace_answer(read.head)) {
      return false;
    }
    if (call_.has_sent_nothing()) {
      answer_.open(read.head, leg_->reader().framing(), wire);
    }
    budget_.attempts.have_ended();
    if (answer_.is_recorded() && !has_memory_for([this] { seam().begin_leg(); })) {
      request_.client()->connection().write(wire);
      if (request_.client() != nullptr) {
        give_up(request_, call_, seam(), Refused::memory, relay::no_memory());
      }
      return false;
    }
  }
  bytes = leg_->reader().read_on(bytes, read);
  return true;
}

void Legs::leg_response(Leg& leg, std::span<char> bytes) {
  if (call_.delivery.is_over()) {
    Leg::end(leg_, false);  // it sent more than was requested
    return;
  }
  std::string& wire = call_.parts.wire;
  wire.clear();
  relay::ResponseReader& reader = leg.reader();
  while (reader.state() == ResponseState::head && !bytes.empty()) {
    if (!read_head(bytes, wire)) {
      return;  // the object behind `reader` may be gone
    }
  }
  Answer::Delivered delivered;
  if (reader.state() == ResponseState::body && !bytes.empty()) {
    delivered = answer_.deliver(reader.read_body(bytes), until_close(leg), wire);
  }
  if (delivered.hint) {
    ensured(move_).hint = delivered.hint;
  }
  settle(delivered.progress, wire);
}

void Legs::settle(Progress progress, std::string& wire) {
  relay::ResponseReader& reader = leg_->reader();
  bool const has_moved = progress != Progress::nothing;
  bool const is_whole = reader.state() == ResponseState::complete;
  bool const is_broken = reader.state() == ResponseState::malformed;
  if ((is_whole || is_broken) && progress < Progress::done && answer_.is_recorded()) {
    progress = answer_.leg_ended(wire);
  }
  bool const is_held = seam().is_holding() && progress < Progress::done;
  if (!seam().is_holding() && move_ && move_->hand_off) {
    move_->hand_off->released();
  }
  if (!is_held && (progress == Progress::done || (is_whole && progress != Progress::failed))) {
    budget_.risk.completed();
    call_.delivery.finish(wire);
    drop_hand_off(move_.get());
    if (reader.state() == ResponseState::body) {
      Leg::end_before_last_bytes(leg_);
    } else {
      Leg::end(leg_, true);
    }
  }
  request_.client()->connection().write(wire);
  if (request_.client() == nullptr) {
    return;
  }
  if (is_held) {
    return;
  }
  if (progress == Progress::failed) {
    migrate(is_broken && seam().reason() == "eof" ? kMalformed : seam().reason());
  } else if (leg_ && is_broken) {
    blame(call_.parts, *leg_);
    request_.break_off(relay::malformed_response(), Outcome::error);
  } else if (call_.delivery.is_over() && request_.client()->connection().is_flushed()) {
    request_.end();
  } else if (leg_ && !request_.client()->connection().is_flushed()) {
    leg_->rest();
  } else if (leg_) {
    leg_->await_next(has_moved);
    note_pace(call_, seam());
    look_ahead();
  }
}

/// A worker that drains has announced when it will cut the answer.
void Legs::look_ahead() {
  if (!move_) {
    return;
  }
  std::optional<Time> const hint = std::exchange(move_->hint, std::nullopt);
  if (hint && !move_->hand_off) {
    move_->hand_off =
        std::make_unique<EarlyHandOff>(call_.parts, call_, seam(), budget_.risk, *this, *this);
  }
  if (move_->hand_off) {
    move_->hand_off->look(*leg_, hint);
  }
}

void Legs::hand_off_ended(HandOffResult handed) {
  if (handed.how == HandOffResult::How::begins_anew) {
    migrate(kHandOff);
    return;
  }
  std::string wire;
  if (std::unique_ptr<Leg> next = std::move(handed.next)) {
    call_.parts.metrics.migrated(call_.label(), kHandOff, {});
    call_.parts.log.info("an answer was handed over", {{"request_id", call_.id()},
                                                       {"from", leg_->worker()->url()},
                                                       {"to", next->worker()->url()}});
    Leg::end(leg_, false);
    move_->hint = handed.hint;  // any other hint was one of the old worker
    leg_ = std::move(next);
    leg_->listen_to(*this);
    answer_.handed_over(wire);
  }
  answer_.note(handed.received);
  answer_.emit(handed.out, wire);
  settle(handed.received.progress, wire);
}

void Legs::leg_ended(Leg& leg, bool orderly) {
  relay::ResponseReader& reader = leg.reader();
  if (reader.state() == ResponseState::head) {
    std::shared_ptr<Worker> const worker = leg_->worker();
    if (leg.is_stale() && call_.route.repeat == Repeat::always) {
      Leg::end(leg_, false);
      budget_.attempts.note_crossed(*worker);
      if (!connect_to(worker, true)) {
        go_to_another(no_worker());
      }
    } else {
      replace_leg(Failover::broken, broken(call_));
    }
    return;
  }
  relay::Delivery& delivery = call_.delivery;
  std::string last;
  bool is_end = orderly && reader.framing().kind == relay::Framing::Kind::until_close &&
                (!delivery.is_event_stream() || delivery.events().ends_with_a_line());
  if (answer_.is_recorded()) {
    is_end = answer_.leg_ended(last) == Progress::done;
    if (!is_end) {
      request_.client()->connection().write(last);
      if (seam().is_holding()) {
        return;  // the new leg may continue the answer
      }
      if (request_.client() != nullptr) {
        migrate("eof");
      }
      return;
    }
  }
  if (!is_end) {
    if (relay::is_whole(delivery)) {
      budget_.risk.completed();
    } else {
      Time const now = monotonic_time();
      call_.parts.fleet.failed(*leg.worker(), now);
      Refused const limit =
          leg.sent().is_all_out() ? budget_.risk.died(*leg.worker(), Begun::yes, now) : Refused::no;
      if (limit != Refused::no) {
        request_.break_off(poisonous(), Outcome::error);
        return;
      }
    }
    request_.break_off(broken(call_), Outcome::error);
    return;
  }
  budget_.risk.completed();
  delivery.finish(last);
  drop_hand_off(move_.get());
  Leg::end(leg_, false);
  request_.write_and_end(last);
}

}  // namespace lastcall::router
