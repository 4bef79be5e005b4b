// Checks that need more than one key: whether values fit together, and whether they have an effect.
//
// Internal to config. Pure values, no thread rule.
#pragma once

#include "config/decode.hpp"
#include "config/environment.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

struct Findings {
  Problems& errors;
  Problems& warnings;
};

/// `places` are the places of the keys that were given; a finding about a default has none.
void validate(Config const& config, Places const& places, PodGrace const& grace, Findings findings);

/// A part of validate(): warns of settings that have no effect or a different one than was meant.
void validate_effects(Config const& config, Places const& places, Problems& warnings);

}  // namespace lastcall::config
