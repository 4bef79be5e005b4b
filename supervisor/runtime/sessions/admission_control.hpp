// Sets limits and thresholds while requests run, on behalf of operators and over HTTP, and shows
// them.
//
// Rules:
//  1. A change names only the values that it changes; null clears a value. It takes effect with the
//     next event.
//  2. A value stays in effect until the next change, until a reload of a file in which the same key
//     has changed, or until the supervisor ends: the configuration file is not written.
//
// Pure, no thread rule. Source: docs/ipc.md 'admission.set' and 'thresholds.set'.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/report.hpp"
#include "ipc/message.hpp"

namespace lastcall::runtime {

lifecycle::AdmissionLimits changed(lifecycle::AdmissionLimits limits,
                                   ipc::AdmissionSet const& change);
lifecycle::LoadThresholds changed(lifecycle::LoadThresholds thresholds,
                                  ipc::ThresholdsSet const& change);

/// Computes the values after a reload: each value is the file's if it has changed there.
lifecycle::AdmissionLimits reloaded(lifecycle::AdmissionLimits now,
                                    lifecycle::AdmissionLimits const& before,
                                    lifecycle::AdmissionLimits const& after);
lifecycle::LoadThresholds reloaded(lifecycle::LoadThresholds now,
                                   lifecycle::LoadThresholds const& before,
                                   lifecycle::LoadThresholds const& after);

/// The part of the status that describes admission.
nlohmann::ordered_json admission_json(lifecycle::AdmissionState const& state);

}  // namespace lastcall::runtime
