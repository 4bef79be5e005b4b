#include "router/legs.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "ingress/client_connection.hpp"
#include "relay/first_byte.hpp"
#include "router/large_bodies.hpp"
#include "router/lost_answers.hpp"
#include "router/no_worker.hpp"
#include "router/parts.hpp"
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

/// Whether the engine had begun with the answer. One that comes in one piece shows that only by the
/// time that it takes.
Begun begun(Seam const& seam, RequestRisk const& risk, Time now) {
  if (seam.is_recording()) {
    return seam.has_begun() ? Begun::yes : Begun::no;
  }
  return risk.is_survived(now) ? Begun::perhaps : Begun::no;
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

/// A leg's pace counts from its first text.
void note_pace(Call& call, Seam const& seam) {
  if (call.pace.moves != seam.moves() && seam.has_begun()) {
    call.pace = {.since = monotonic_time(),
                 .made = continuation::as_tokens(seam.story().known().transcript.count().about()),
                 .moves = seam.moves()};
  }
}

/// The worker is being left, so its announcement says nothing about the next one.
void drop_hand_off(MoveState* move) {
  if (move != nullptr) {
    move->hint.reset();
  }
  if (move != nullptr && move->hand_off) {
    move->hand_off->drop();
  }
}

MoveState& ensured(std::unique_ptr<MoveState>& move) {
  if (!move) {
    move = std::make_unique<MoveState>();
  }
  return *move;
}

}  // namespace

Legs::Legs(RoutedRequest& request, Call& call)
    : request_(request), call_(call), answer_(call), search_(request, call, answer_, *this) {}

TotalWait::TotalWait(Parts& parts, RoutedRequest& request) : request_(request) {
  parts.deadlines.arm(deadline_, Wait::total);
}

void TotalWait::expired(Wait /*wait*/) {
  request_.break_off(relay::timed_out("the request took too long", false), Outcome::error);
}

void Legs::start() {
  if (call_.parts.settings.timeouts.total) {
    total_ = std::make_unique<TotalWait>(call_.parts, request_);
  }
  if (!search_.risk().begin(monotonic_time())) {
    request_.refuse(poisonous());
    return;
  }
  call_.modes = {.by = call_.parts.settings.migration.by,
                 .endpoint = continuation::endpoint_of(call_.route.endpoint())};
  if (has_memory_for([this] { seam().begin(call_); })) {
    search_.go_on(no_worker());
  } else {
    request_.refuse(relay::no_memory());
  }
}

void Legs::drop() {
  if (total_) {
    total_->end();
  }
  drop_hand_off(move_.get());
  if (move_ && move_->proof) {
    move_->proof->drop();
  }
  answer_.drop();
  search_.stop();
  Leg::end(leg_, false);
}

// --- the way to a worker -------------------------------------------------------------------------

bool Legs::begin_leg(std::shared_ptr<Worker> const& worker, bool fresh) {
  std::string own_body;
  bool is_prepared = false;
  auto const prepare = [&] { is_prepared = seam().prepare(call_.modes.of(*worker), own_body); };
  if (!has_memory_for(prepare)) {
    search_.give_up(Refused::memory, relay::no_memory());
    return true;
  }
  answer_.leg_begins();
  if (!is_prepared) {
    return false;
  }
  if (!search_.attempts().has_crossed(*worker)) {  // otherwise it had the request before
    search_.risk().sent(monotonic_time());
  }
  unsigned const moves = seam().moves();
  std::string const suffix = moves > 0 ? "-m" + std::to_string(moves) : "";
  LegWork const work = search_.work();
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
          call_.parts.fleet.choose(call_.to_choose(), here, now) && search_.risk().may_repeat()) {
        search_.leave(*leg.worker());
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
  bool const is_dead = why == Failover::unreachable && search_.attempts().has_crossed(*worker);
  bool const is_malformed = leg_->reader().state() == ResponseState::malformed;
  bool const is_broken = why == Failover::broken && !is_malformed;
  if (is_dead || (is_broken && leg_->sent().is_all_out())) {
    limit = search_.risk().died(*worker, begun(seam(), search_.risk(), now), now);
  } else if ((why == Failover::timed_out || is_malformed) && !search_.risk().may_repeat()) {
    limit = Refused::budget;
  }
  call_.parts.fleet.failed(*worker, now);
  call_.parts.metrics.failed_over(why);
  call_.parts.log.debug(
      "a worker was replaced before its first byte",
      {{"request_id", call_.id()}, {"worker", worker->url()}, {"reason", name(why)}});
  Leg::end(leg_, false);
  if (limit != Refused::no) {
    search_.give_up(limit, limit == Refused::budget ? last : poisonous());
  } else if (is_allowed) {
    search_.go_on(last);
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
      .limit = search_.risk().moved(reason, *worker, seam().has_begun(), monotonic_time())};
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
        search_.leave(*worker);
        search_.go_on(no_worker());
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
    call_.parts.metrics.failed_over(Failover::refused);
    Leg::end(leg_, false);
    search_.pass_over();
    return true;
  }
  if (is_malformed_request(head.status) && call_.has_sent_nothing() &&
      has_given_up_additions(call_, seam())) {
    std::shared_ptr<Worker> const worker = leg_->worker();
    Leg::end(leg_, false);
    call_.parts.probes.doubt(*worker);
    if (!begin_leg(worker, true)) {
      search_.go_on(no_worker());
    }
    return true;
  }
  if (verdict == Verdict::answer) {
    call_.parts.fleet.answered(*leg_->worker());
    return false;
  }
  if (verdict != Verdict::broke) {
    call_.parts.fleet.failed(*leg_->worker(), monotonic_time());
  } else if (search_.attempts().is_believed()) {
    return false;
  }
  if (verdict == Verdict::engine_died) {
    Time const now = monotonic_time();
    Refused const limit =
        search_.risk().died(*leg_->worker(), begun(seam(), search_.risk(), now), now);
    if (limit != Refused::no) {
      search_.give_up(limit, poisonous());
      return true;
    }
  }
  if (!search_.may_ask_another(verdict) ||
      (verdict == Verdict::broke && !search_.risk().may_repeat())) {
    return false;
  }
  call_.parts.metrics.failed_over(Failover::refused);
  Leg::end(leg_, false);
  search_.go_on(no_worker());
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
    search_.attempts().have_ended();
    if (answer_.is_recorded() && !has_memory_for([this] { seam().begin_leg(); })) {
      request_.client()->connection().write(wire);
      if (request_.client() != nullptr) {
        search_.give_up(Refused::memory, relay::no_memory());
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
  if (seam().is_holding() && reader.state() == ResponseState::body) {
    leg_->await_next(true);  // nobody looks for events in what is held
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
    search_.risk().completed();
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
        std::make_unique<EarlyHandOff>(call_.parts, call_, seam(), search_.risk(), *this, *this);
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
      search_.attempts().note_crossed(*worker);
      if (!begin_leg(worker, true)) {
        search_.go_on(no_worker());
      }
    } else {
      replace_leg(Failover::broken, connection_broke(call_));
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
        migrate(seam().reason());
      }
      return;
    }
  }
  if (!is_end) {
    if (relay::is_whole(delivery)) {
      search_.risk().completed();
    } else {
      Time const now = monotonic_time();
      call_.parts.fleet.failed(*leg.worker(), now);
      Refused const limit = leg.sent().is_all_out()
                                ? search_.risk().died(*leg.worker(), Begun::yes, now)
                                : Refused::no;
      if (limit != Refused::no) {
        request_.break_off(poisonous(), Outcome::error);
        return;
      }
    }
    request_.break_off(connection_broke(call_), Outcome::error);
    return;
  }
  search_.risk().completed();
  delivery.finish(last);
  drop_hand_off(move_.get());
  Leg::end(leg_, false);
  request_.write_and_end(last);
}

}  // namespace lastcall::router
