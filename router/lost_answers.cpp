#include "router/lost_answers.hpp"

#include <string_view>

#include "router/continuation/refused.hpp"

namespace lastcall::router {

using continuation::Refused;
using lifecycle::CancelReason;

relay::Refusal connection_broke(Call const& call) {
  return call.route.repeat == Repeat::always ? relay::cut_by(CancelReason::engine_dead)
                                             : relay::engine_failed();
}

relay::Refusal stood_still() {
  return relay::timed_out("the worker's response stalled for too long", false);
}

relay::Refusal not_continued(Call const& call, Seam const& seam) {
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
    refusal = connection_broke(call);
  } else if (may_come_again && cause == "retryable") {
    refusal = {503, "engine_error", "the engine failed; send the request again", true, {}};
  }
  refusal.reason = seam.why_not();
  return refusal;
}

}  // namespace lastcall::router
