#include "shim/deadline_rules.hpp"

#include <algorithm>

namespace lastcall::shim {

void StopClock::learn_settings(std::optional<Duration> grace, std::optional<Duration> reserve) {
  if (grace) {
    welcome_grace_ = grace;
  }
  if (reserve) {
    welcome_reserve_ = reserve;
  }
}

void StopClock::begin(Instant now) {
  if (!begun_at_) {
    begun_at_ = now;
  }
}

void StopClock::learn_deadline(Instant now, Instant deadline) {
  begin(now);
  if (given_ == deadline) {
    return;
  }
  // The first deadline was derived from the whole stop; a later one from the time that is left of
  // it.
  given_total_ = deadline - (given_ ? now : *begun_at_);
  given_ = deadline;
}

Duration StopClock::own_total() const {
  Duration total = grace_;
  if (welcome_grace_) {
    total = std::min(total, *welcome_grace_);
  }
  if (pod_grace_) {
    total = std::min(total, *pod_grace_);
  }
  return std::max(total, kMinimumTotal);
}

Instant StopClock::deadline() const {
  return given_ ? *given_ : *begun_at_ + own_total();
}

Margins StopClock::current_margins() const {
  return margins(given_ ? given_total_ : own_total(), welcome_reserve_.value_or(kDefaultReserve));
}

namespace {

Instant term_at(Situation const& situation, StopClock const& clock) {
  Margins const m = clock.current_margins();
  Instant const last_moment = m.shim_term_at(clock.deadline());
  switch (situation.standing) {
    case Standing::never:
      return kAtOnce;
    case Standing::present:
      return last_moment;
    case Standing::gone:
      return std::min(m.hold_until(clock.deadline()), last_moment);
  }
  return kAtOnce;
}

/// The stop began at the supervisor, and nothing was started, so no process lacks a signal while
/// the shim waits for the end of that stop. The shim's own supervisor, which ends with the shim,
/// has as long to come back as one whose engine is held; another one needs no shim.
Instant stood_down_until(Situation const& situation, StopClock const& clock) {
  Instant const deadline = clock.deadline();
  if (situation.standing != Standing::gone) {
    return deadline;
  }
  return situation.has_service ? clock.current_margins().hold_until(deadline)
                               : std::min(situation.engine_ended_at + kExitOrderTimeout, deadline);
}

Instant leave_at(Situation const& situation, StopClock const& clock) {
  std::optional<Instant> const rest = rest_kill_at(situation, clock);
  Instant const rest_gone = situation.tree_ended_at.value_or(rest.value_or(kAtOnce));
  if (situation.standing == Standing::never) {
    return rest_gone;  // no supervisor is there to give an order
  }
  if (!situation.engine_started && clock.running()) {
    return stood_down_until(situation, clock);
  }
  Instant const patience =
      std::max(situation.engine_ended_at, std::min(rest_gone, rest.value_or(rest_gone))) +
      kExitOrderTimeout;
  return clock.running() ? std::min(patience, clock.deadline()) : patience;
}

}  // namespace

std::optional<Due> next_due(Situation const& situation, StopClock const& clock) {
  switch (situation.state) {
    case State::waiting:
      return Due{Event::start_due, situation.start_due};
    case State::running:
    case State::leaving:
      return std::nullopt;
    case State::holding:
      return Due{Event::term_due, term_at(situation, clock)};
    case State::stopping:
      return Due{Event::kill_due, clock.current_margins().engine_kill_at(clock.deadline())};
    case State::killing:
      return Due{Event::leave_due, clock.deadline()};
    case State::ended:
      return Due{Event::leave_due, leave_at(situation, clock)};
  }
  return std::nullopt;
}

std::optional<Instant> rest_kill_at(Situation const& situation, StopClock const& clock) {
  if (!situation.engine_ordered || !clock.running()) {
    return std::nullopt;
  }
  return std::min(situation.engine_ended_at + clock.rest_grace(),
                  clock.current_margins().engine_kill_at(clock.deadline()));
}

Instant tracker_kill_at(std::optional<Instant> since, Instant now, StopClock const& clock) {
  Instant const moment = since.value_or(now) + kTrackerMoment;
  if (!clock.running()) {
    return moment;
  }
  Margins const m = clock.current_margins();
  return std::min(moment, clock.deadline() - m.kill / 2);
}

Instant service_end_at(Instant leaving_since, std::optional<Instant> log_was_full_at,
                       StopClock const& clock) {
  Instant const moment = std::max(leaving_since, log_was_full_at.value_or(leaving_since));
  Instant const patience = leaving_since + kLongestLastWords + kServiceMoment;
  Instant const limit =
      clock.running() ? std::max(leaving_since + kLastMoment, std::min(patience, clock.deadline()))
                      : give_up_at(leaving_since, clock);
  return std::min(moment + kServiceMoment, limit);
}

Instant give_up_at(Instant leaving_since, StopClock const& clock) {
  Instant const shortly = leaving_since + kLastMoment;
  if (clock.running() && clock.deadline() < leaving_since + kLeaveTimeout) {
    return std::max(shortly, clock.deadline());
  }
  return leaving_since + kLeaveTimeout;
}

Duration last_words_wait(Instant now, StopClock const& clock) {
  if (!clock.running()) {
    return kLastWords;
  }
  return std::clamp(clock.deadline() - kLastMoment - now, Duration{0}, kLongestLastWords);
}

}  // namespace lastcall::shim
