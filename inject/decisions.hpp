// The decisions about one pod: its form, its times, the sidecar's user and configuration.
//
// Internal to inject. Pure except for Options::check, no thread rule.
#pragma once

#include "inject/injection.hpp"
#include "inject/pod_parts.hpp"

namespace lastcall::inject {

inline constexpr std::string_view kConfigNote = "lastcall.dev/config";
/// The prefix of annotations that set one key of the configuration:
/// "lastcall.dev/config.engine.kind".
inline constexpr std::string_view kKeyNote = "lastcall.dev/config.";
inline constexpr std::string_view kContainerNote = "lastcall.dev/container";
/// The annotation by which kubectl knows a pod's main container; Istio writes it, too.
inline constexpr std::string_view kDefaultContainerNote = "kubectl.kubernetes.io/default-container";
inline constexpr char const* kGraceKey = "terminationGracePeriodSeconds";

/// Refuses what is not possible; then the plan must not be used.
PodPlan decide(Ledger const& ledger, Options const& options, Node const& engine);

}  // namespace lastcall::inject
