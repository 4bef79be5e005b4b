#include "router/worker_search.hpp"

#include "base/clock.hpp"
#include "router/answer.hpp"
#include "router/lost_answers.hpp"
#include "router/no_worker.hpp"
#include "router/parts.hpp"
#include "router/room.hpp"
#include "router/routed_request.hpp"

namespace lastcall::router {

using continuation::Refused;
using lifecycle::Outcome;

Seam& WorkerSearch::seam() const {
  return answer_.seam();
}

LegWork WorkerSearch::work() const {
  if (seam().moves() == 0 && !risk_.is_suspect() && !risk_.has_lost_engine()) {
    return {};
  }
  return {.kind = risk_.is_suspect() ? LegWork::Kind::suspect : LegWork::Kind::continues,
          .tokens = tokens_of(seam(), call_)};
}

Fleet::Wanted WorkerSearch::next() const {
  return seam().moves() > 0 ? call_.to_go_on(*seam().known()) : call_.to_choose();
}

bool WorkerSearch::fits_nobody() const {
  return !call_.has_sent_nothing() && call_.parts.fleet.knows(call_.wanted.model) &&
         !call_.parts.fleet.choose(next(), {}, monotonic_time());
}

bool WorkerSearch::may_ask_another(Verdict verdict) const {
  Repeat const repeat = call_.route.repeat;
  bool const is_allowed =
      repeat == Repeat::always || (repeat == Repeat::unless_begun && verdict == Verdict::refused);
  return is_allowed && attempts_.are_left(call_.parts.settings.choosing.attempts) &&
         call_.parts.fleet.choose(call_.to_choose(), attempts_.tried(), monotonic_time());
}

void WorkerSearch::give_up(Refused why, relay::Refusal const& last) {
  seam().give_up(why);
  request_.break_off(call_.has_sent_nothing() ? last : not_continued(call_, seam()),
                     Outcome::error);
}

void WorkerSearch::leave(Worker const& worker) {
  attempts_.begin_again(worker, monotonic_time() + call_.parts.settings.migration.wait);
}

void WorkerSearch::stop() {
  call_.parts.waiting.leave(*this);
}

void WorkerSearch::wait() {
  call_.parts.waiting.enter(*this, call_.wanted.model, work());
}

Waiter::Tried WorkerSearch::ask(bool ignores_turns) {
  while (attempts_.are_left(call_.parts.settings.choosing.attempts)) {
    Fleet::Wanted wanted = next();
    // A request that has no answer yet asks each worker once, so it does not need turns.
    wanted.waits = attempts_.has_waited() && !call_.has_sent_nothing() && !ignores_turns;
    auto const [worker, is_full] = find_room(call_.parts, wanted, work(), attempts_.tried());
    if (!worker) {
      return is_full ? Tried::no_room : Tried::refused;
    }
    if (!call_.has_sent_nothing()) {
      worker->note_trial(monotonic_time());
    }
    attempts_.note(*worker);
    if (attempts_.count() > 1 && call_.has_sent_nothing()) {
      call_.parts.metrics.asked_another(call_.label());
    }
    if (legs_.begin_leg(worker, call_.route.repeat != Repeat::always)) {
      return Tried::gone;
    }
    call_.parts.fleet.failed(*worker, monotonic_time());
    call_.parts.metrics.failed_over(Failover::unreachable);
  }
  return Tried::refused;
}

void WorkerSearch::go_on(relay::Refusal const& last) {
  Tried const tried = ask();
  if (tried == Tried::gone) {
    return;
  }
  if (tried == Tried::refused && call_.has_sent_nothing()) {
    request_.refuse(last);
    return;
  }
  if (fits_nobody()) {
    give_up(Refused::worker_cannot, no_worker());
    return;
  }
  if (call_.has_sent_nothing()) {
    attempts_.wait_until(monotonic_time() + call_.parts.settings.migration.wait);
  }
  wait();
}

void WorkerSearch::pass_over() {
  Tried const tried = ask(true);
  if (tried == Tried::no_room) {  // the worker that may accept it has enough to compute now
    wait();
  } else if (tried != Tried::gone) {
    give_up(Refused::worker_cannot, no_worker());
  }
}

Waiter::Tried WorkerSearch::try_again() {
  if (!seam().has_begun() && risk_.is_poison(monotonic_time())) {
    give_up(Refused::poison, poisonous());
    return Tried::gone;
  }
  if (!attempts_.may_wait(monotonic_time())) {
    request_.break_off(no_worker(), Outcome::error);
    return Tried::gone;
  }
  attempts_.note_wait();
  Tried const tried = ask();
  if (tried == Tried::refused && call_.has_sent_nothing()) {
    request_.refuse(no_worker());
    return Tried::gone;
  }
  if (tried == Tried::refused && fits_nobody()) {
    give_up(Refused::worker_cannot, no_worker());
    return Tried::gone;
  }
  if (tried == Tried::refused) {
    attempts_.ask_all();
  }
  return tried;
}

}  // namespace lastcall::router
