// The plan of a stop as a document: the latest end of each step, and the current step.
//
// Pure, no thread rule. Source: docs/status-page.md, 'The document'.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/lifecycle.hpp"

namespace lastcall::runtime {

/// The plan of the stop under way, or of a stop that would begin now.
nlohmann::ordered_json plan_of(lifecycle::Lifecycle const& core,
                               lifecycle::Snapshot const& snapshot, lifecycle::Instant now);

}  // namespace lastcall::runtime
