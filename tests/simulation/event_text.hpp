// Events, actions and settings as lines of the scenario language, both ways where both are needed.
// Their lines come from their shapes (shape_text.hpp); the core's snapshot, its report and what it
// asks to remember are put in words by hand (action_print.cpp).
//
// A failing simulation prints what happened in this language, and what it prints is a scenario
// file. Values only, no thread rule.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

/// `begin 1 r1 endpoint=generate`; parse_event() reads it back.
std::string text_of(lifecycle::Event const& event, Instant now);
/// `now` is what an event that carries its own instant (`signal TERM`) defaults to.
lifecycle::Event parse_event(std::string_view line, Instant now);

/// `announce draining deadline=60s`. Cancels are taken from the core, one line a batch.
std::vector<std::string> text_of(lifecycle::Lifecycle& core,
                                 std::span<lifecycle::Action const> actions, Instant now);
/// `status draining verdict=healthy ...`: the snapshot in one line.
std::string status_text(lifecycle::Lifecycle const& core);

/// `settings registries=1 grace_period=60s ...`: what differs from the defaults.
std::string text_of(lifecycle::Settings const& settings);
lifecycle::Settings parse_settings(std::string_view line);

}  // namespace lastcall::simulation
