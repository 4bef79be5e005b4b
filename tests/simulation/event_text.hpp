// Events, actions and settings as lines of the scenario language, both ways where both are needed.
//
// A failing simulation prints what happened in this language, and what it prints is a scenario
// file. Values only, no thread rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/lifecycle.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

/// `begin 1 r1 endpoint=generate`; parse_event() reads it back.
std::string text_of(lifecycle::Event const& event, Instant now);
/// `now` is what an event that carries its own instant (`signal TERM`) defaults to.
lifecycle::Event parse_event(std::string_view line, Instant now);

/// `announce_phase draining deadline=60s`. Cancels are taken from the core, one line a batch.
std::vector<std::string> text_of(lifecycle::Lifecycle& core,
                                 std::span<lifecycle::Action const> actions, Instant now);
/// `lastcall_phase=...`: the snapshot in one line.
std::string status_text(lifecycle::Lifecycle const& core);

/// `registries=1 checks=1 grace=60s ...`: what differs from the defaults.
std::string text_of(lifecycle::Settings const& settings);
lifecycle::Settings parse_settings(std::string_view line);

// Words that settings and events share (admission_text.cpp).
void put_admission(Line& line, lifecycle::AdmissionLimits const& limits);
lifecycle::AdmissionLimits parse_admission(Words& words);
void put_load(Line& line, lifecycle::LoadThresholds const& thresholds);
lifecycle::LoadThresholds parse_load_limits(Words& words);

/// As lines count.
template <typename T>
std::optional<std::int64_t> signed_of(std::optional<T> const& count) {
  return count ? std::optional(static_cast<std::int64_t>(*count)) : std::nullopt;
}

}  // namespace lastcall::simulation
