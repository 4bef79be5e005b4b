// A stop in one sentence, for people who look at a pod's Events.
//
// Pure, no thread rule. Source: the drain report; this is its most important part.
#pragma once

#include "core/report.hpp"
#include "discovery/kubernetes_registry.hpp"

namespace lastcall::runtime {

/// Summarizes a stop up to phase 3. The result is a warning if there was a problem. It states the
/// exit code only if nothing can change it any more: an engine that still runs may have to be
/// killed.
discovery::KubernetesSummary summarize(lifecycle::Report const& report, bool engine_has_ended);

}  // namespace lastcall::runtime
