#include "core/engine_tree.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

/// Deaths that follow each other within this time are one event.
constexpr Duration kDeathMemory{5'000};
/// The time for a resource tracker that is killed last, with the moment that KILL takes.
constexpr Duration kAfterGrace{2'250};
constexpr std::string_view kResourceTracker = "multiprocessing.resource_tracker";

std::string seconds_with_tenths(Duration d) {
  std::int64_t const tenths = std::max<std::int64_t>(to_ms(d), 0) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

void EngineTree::left_behind(Instant at, std::uint32_t alive, Duration grace) {
  alive_ = alive;
  main_ends_by_.reset();
  if (alive == 0) {
    end(at);  // this is the earliest time, and the shim's patience counts from it
    return;
  }
  state_ = State::leaving;
  grace_ends_at_ = at + grace;
}

void EngineTree::end(Instant at) {
  main_ends_by_.reset();
  if (state_ != State::gone) {  // if the shim is lost afterwards, that does not move the end
    state_ = State::gone;
    gone_at_ = at;
  }
}

void EngineTree::seen(Instant now, EngineTreeSeen const& seen) {
  alive_ = seen.alive;
  if (!seen.names.empty()) {
    names_ = seen.names;  // if none is left, these are the names of the processes that ended last
  }
  if (seen.alive == 0 && state_ == State::leaving) {
    end(now);
  }
}

void EngineTree::forget() {
  *this = EngineTree{};
}

std::optional<Instant> EngineTree::gone_by(Instant killed_by) const {
  if (state_ != State::leaving) {
    return std::nullopt;
  }
  Instant const ends_at = std::min(grace_ends_at_, rest_killed_at_.value_or(grace_ends_at_));
  return std::min(ends_at + kAfterGrace, killed_by);
}

Instant EngineTree::counted_from(Instant main_ended_at) const {
  switch (state_) {
    case State::whole:
      return main_ended_at;
    case State::leaving:
      return std::max(main_ended_at, grace_ends_at_);
    case State::gone:
      return std::max(main_ended_at, std::min(*gone_at_, std::max(main_ended_at, grace_ends_at_)));
  }
  return main_ended_at;
}

void EngineTree::died(Instant now, EngineProcessDied const& death) {
  if (!first_death_ || now - first_death_->at > kDeathMemory) {
    first_death_ = death;
  }
}

std::string EngineTree::first_death(Instant now) const {
  if (!first_death_ || now - first_death_->at > kDeathMemory) {
    return {};
  }
  std::string text = first_death_->name + ", pid " + std::to_string(first_death_->pid) +
                     ", vanished " + seconds_with_tenths(now - first_death_->at) + " before";
  if (first_death_->signal != 0) {
    text += " (killed by signal " + std::to_string(first_death_->signal) + ")";
  }
  return text;
}

bool matches_any(std::span<std::string const> patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) {
      return pattern == name;
    }
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
  });
}

bool are_workers(std::span<std::string const> patterns, EngineTreeSeen const& rest) {
  bool is_any = false;
  for (std::string_view const name : rest.names) {
    bool const is_worker = matches_any(patterns, name);
    if (!is_worker && name != kResourceTracker) {
      return false;
    }
    is_any = is_any || is_worker;
  }
  return is_any;
}

bool is_last_of(std::span<std::string const> patterns, EngineProcessDied const& death) {
  bool const is_known = death.alive && (*death.alive == 0 || !death.names.empty());
  return is_known &&
         std::none_of(death.names.begin(), death.names.end(),
                      [&](std::string_view name) { return matches_any(patterns, name); });
}

}  // namespace lastcall::lifecycle
