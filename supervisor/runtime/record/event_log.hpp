// Steps of the core as JSON, and the settings that it started with: the format that the log has at
// debug level and that `replay` reads. The keys are those of core/shapes.hpp.
//
// Rules:
//  1. Events and settings are lossless: decode_event(encode(e)) is e. Actions are only read by
//     people and compared.
//  2. An event's `type` is its struct's name in snake case; unknown keys are ignored, missing ones
//     keep their default.
//
// Pure, no thread rule.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/settings.hpp"

namespace lastcall::runtime::event_log {

std::string encode(lifecycle::Event const& event);
/// The name of the event's struct in snake case.
std::string_view name(lifecycle::Event const& event);
std::string encode(std::span<lifecycle::Action const> actions);
std::string encode(lifecycle::Action const& action);

struct Decoded {
  std::optional<lifecycle::Event> event;
  std::string problem;  // why there is no event; else empty
};

Decoded decode_event(std::string_view json);

std::string encode(lifecycle::Settings const& settings);

struct DecodedSettings {
  std::optional<lifecycle::Settings> settings;
  std::string problem;  // why there are no settings; else empty
};

DecodedSettings decode_settings(std::string_view json);

}  // namespace lastcall::runtime::event_log
