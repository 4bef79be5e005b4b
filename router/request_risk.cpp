#include "router/request_risk.hpp"

#include "router/parts.hpp"

namespace lastcall::router {

using continuation::Cause;
using continuation::Refused;
using continuation::Suspects;

SharedRisk& RequestRisk::shared() const {
  return call_.parts.risk;
}

void RequestRisk::sent(Time now) {
  known_ = shared().deaths.last();
  sent_at_ = now;
}

bool RequestRisk::may_repeat() {
  return shared().budget.take();
}

std::uint64_t RequestRisk::hash() {
  if (hash_ == 0) {
    hash_ = continuation::hash_of_request(
        {.line = call_.head.line(), .model = call_.wanted.model, .body = call_.body.text()});
  }
  return hash_;
}

bool RequestRisk::begin(Time now) {
  shared().budget.note_request();
  if (shared().suspects.size() == 0) {
    return true;
  }
  Suspects::Verdict const verdict = shared().suspects.verdict(hash(), now);
  is_suspect_ = may_be_poison_ = verdict == Suspects::Verdict::suspect;
  return verdict != Suspects::Verdict::poison;
}

bool RequestRisk::is_poison(Time now) {
  return may_be_poison_ && shared().suspects.verdict(hash(), now) == Suspects::Verdict::poison;
}

Refused RequestRisk::died(Worker const& worker, Begun begun, Time now) {
  auto const number = shared().deaths.note(call_.wanted.model, worker.id(), now);
  shared().suspects.note_death(hash(), {.number = number, .known = known_}, now);
  // A request with which the engine had begun is less likely to be the cause of the death than
  // another one that was in flight, so it is no suspect. Without tokens that is not certain.
  is_suspect_ = begun == Begun::no;
  may_be_poison_ = begun != Begun::yes;
  Refused const limit = moves_.take(Cause::engine_death);
  if (!is_poison(now)) {
    return limit;
  }
  call_.parts.log.warning(
      "engines have died with this request: it and equal ones are refused",
      {{"request_id", call_.id()}, {"model", call_.wanted.model}, {"worker", worker.url()}});
  return limit == Refused::no ? Refused::poison : limit;
}

Refused RequestRisk::moved(std::string_view reason, Worker const& worker, bool has_begun,
                           Time now) {
  Cause const cause = continuation::cause_of(reason);
  // An engine that reports the end of one answer is alive.
  if (reason == "eof" || reason == "engine_dead") {
    return died(worker, has_begun ? Begun::yes : Begun::no, now);
  }
  if (cause == Cause::stall && !shared().budget.take()) {
    return Refused::budget;
  }
  return moves_.take(cause);
}

void RequestRisk::completed() {
  if (shared().suspects.size() > 0) {
    shared().suspects.clear(hash());
  }
}

relay::Refusal poisonous() {
  return {.status = 502,
          .type = "poison",
          .message = "engines have died with this request; it is not sent to another one",
          .retryable = false,
          .reason = {}};
}

}  // namespace lastcall::router
