// A stop in one sentence, for people who look at a pod's Events.
//
// Pure, no thread rule. Source: the drain report, whose most important part it gives.
#pragma once

#include "core/report.hpp"
#include "discovery/kubernetes_registry.hpp"

namespace lastcall::runtime {

/// Sums up what came before phase 3 of a stop. It is a warning if anything was not as it should be.
/// The exit code is named where nothing can change it any more: an engine that runs may have to be
/// killed.
discovery::KubernetesSummary summarize(lifecycle::Report const& report, bool engine_has_ended);

}  // namespace lastcall::runtime
