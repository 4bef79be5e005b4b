// Checks that need more than one key: what fits together, and what has no effect.
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

/// `places` are those of the keys that were given; a finding about a default has no place.
void validate(Config const& config, Places const& places, PodGrace const& grace, Findings findings);

/// A part of it: what has no effect, or another one than was meant.
void validate_effects(Config const& config, Places const& places, Problems& warnings);

}  // namespace lastcall::config
