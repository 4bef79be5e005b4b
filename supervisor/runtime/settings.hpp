// Translates the configuration to the core's settings.
//
// Rules:
//  1. Only names are translated here: each field of lifecycle::Settings has one source.
//  2. The index of a check or registry is its position in the list, here, in the core, and in the
//     drivers.
//
// Pure, no thread rule.
#pragma once

#include <string_view>

#include "config/environment.hpp"
#include "config/presets.hpp"
#include "config/schema.hpp"
#include "core/event.hpp"
#include "core/settings.hpp"

namespace lastcall::runtime {

lifecycle::Settings settings_from(config::Config const& config, config::PodGrace const& grace);

/// The limits of the same checks, as they are configured now.
lifecycle::HealthLimitsChanged health_limits_from(config::Config const& config);

lifecycle::AdmissionLimits admission_limits_from(config::Admission const& admission);
lifecycle::LoadThresholds load_thresholds_from(config::Admission const& admission);

/// Removes the prefix: "SIGTERM" and "TERM" both become "TERM".
std::string_view without_sig(std::string_view signal_name);

}  // namespace lastcall::runtime
