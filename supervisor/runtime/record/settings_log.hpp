// What the core was told at its start, as JSON: the first record of an event log.
//
// Rules: 1. lossless, decode_settings(encode(s)) is s; 2. a new member without a key here does not
// compile; 3. unknown keys are ignored, missing ones keep their default.
//
// Pure, no thread rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/settings.hpp"

namespace lastcall::runtime::event_log {

std::string encode(lifecycle::Settings const& settings);

struct DecodedSettings {
  std::optional<lifecycle::Settings> settings;
  std::string problem;  // why there are none
};

DecodedSettings decode_settings(std::string_view json);

}  // namespace lastcall::runtime::event_log
