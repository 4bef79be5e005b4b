#include "core/responsiveness.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {
namespace {

using Signs = Responsiveness::Signs;

/// The start of a silence; it counts from the last byte that moved if that was later.
std::optional<Instant> silent_since(std::optional<Instant> since, Signs const& signs) {
  return since && signs.progress_at ? std::max(*since, *signs.progress_at) : since;
}

std::optional<Instant> limit_of(std::optional<Instant> since, Signs const& signs) {
  auto const from = silent_since(since, signs);
  return from ? std::optional(*from + kSilenceLimit) : std::nullopt;
}

bool is_after(std::optional<Instant> at, Instant then) {
  return at && *at >= then;
}

}  // namespace

void Responsiveness::first_token(Duration waited) {
  longest_first_token_ = std::max(longest_first_token_.value_or(Duration{0}), waited);
}

void Responsiveness::process_stopped(Instant now, std::string name, bool will_be_asked) {
  will_be_asked_ = will_be_asked_ || will_be_asked;
  if (!stopped_at_) {
    stopped_at_ = now;
    stopped_name_ = std::move(name);
    check_missed_it_ = false;
    will_be_asked_ = will_be_asked;
  }
}

void Responsiveness::restore(Instant now, Silence silence) {
  if (silence == Silence::none) {
    return;
  }
  // A canary of an earlier life has no answer that this one could receive.
  silence_ = silence == Silence::canary ? Silence::tokens : silence;
  fell_silent_at_ = now;
  if (silence_ == Silence::process) {
    process_stopped(now, {}, false);
    check_missed_it_ = true;
  }
}

Duration Responsiveness::patience() const {
  return longest_first_token_ ? std::max(kSilenceLimit, *longest_first_token_ * 2)
                              : kFirstTokenUnknown;
}

void Responsiveness::update(Instant now, Signs const& signs) {
  check_missed_it_ = check_missed_it_ || (stopped_at_ && signs.unanswered_since);
  bool const shows_life =
      stopped_at_ &&
      (is_after(signs.progress_at, *stopped_at_ + kStragglers) ||
       (check_missed_it_ && !signs.unanswered_since && is_after(signs.check_at, *stopped_at_)));
  if (shows_life) {
    stopped_at_.reset();
  }
  if (silence_ != Silence::none && !is_broken(now, signs)) {
    return;
  }
  if (silence_ == Silence::process) {
    stopped_at_.reset();  // it is forgiven, or broken
  }
  Silence const now_found = found(now, signs);
  if (silence_ != Silence::none) {
    silence_ = now_found;  // one silence follows another; this counts as the same fall
  } else if (now_found != Silence::none &&
             (!fell_silent_at_ || now >= *fell_silent_at_ + kSilenceCycle)) {
    silence_ = now_found;
    fell_silent_at_ = now;
  }
}

bool Responsiveness::is_broken(Instant now, Signs const& signs) const {
  if (silence_ != Silence::process && is_after(signs.progress_at, *fell_silent_at_)) {
    return true;
  }
  if (auto const at = forgiven_at(signs); at && now >= *at) {
    return true;
  }
  switch (silence_) {
    case Silence::none:
    case Silence::tokens:
      return false;
    case Silence::checks:
      return !signs.unanswered_since && is_after(signs.check_at, *fell_silent_at_);
    case Silence::canary:
      return !signs.canary_since;
    case Silence::process:
      return !stopped_at_;
  }
  return false;
}

std::optional<Instant> Responsiveness::forgiven_at(Signs const& signs) const {
  bool const needs_a_request = silence_ == Silence::tokens || silence_ == Silence::process;
  if (!needs_a_request || waits_for_proof() || !signs.idle_since || signs.canary_since ||
      signs.unanswered_since) {
    return std::nullopt;
  }
  return std::max(*signs.idle_since, *fell_silent_at_) + kSilenceForgiven;
}

Silence Responsiveness::found(Instant now, Signs const& signs) const {
  if (stopped_at_) {
    return Silence::process;
  }
  if (auto const limit = limit_of(signs.unanswered_since, signs); limit && now >= *limit) {
    return Silence::checks;
  }
  if (auto const limit = limit_of(signs.canary_since, signs); limit && now >= *limit) {
    return Silence::canary;
  }
  // A reading proves it, not a clock: the counter may have moved since the last reading.
  auto const still = silent_since(signs.work_since, signs);
  return still && is_after(signs.tokens_at, *still + patience()) ? Silence::tokens : Silence::none;
}

std::optional<Instant> Responsiveness::next_deadline(Signs const& signs) const {
  if (silence_ != Silence::none) {
    return forgiven_at(signs);
  }
  std::optional<Instant> at =
      earlier_of(limit_of(signs.unanswered_since, signs), limit_of(signs.canary_since, signs));
  at = earlier_of(at, stopped_at_);
  auto const still = silent_since(signs.work_since, signs);
  if (still && is_after(signs.tokens_at, *still + patience())) {
    at = earlier_of(at, signs.tokens_at);
  }
  return at && fell_silent_at_ ? std::max(*at, *fell_silent_at_ + kSilenceCycle) : at;
}

}  // namespace lastcall::lifecycle
