// Turns the core's notes and the states of registries into metrics.
//
// Thread rule: the loop's thread.
#pragma once

#include "core/action.hpp"
#include "discovery/registry_set.hpp"
#include "probes/metrics/metrics.hpp"

namespace lastcall::runtime {

void count(probes::Metrics& metrics, lifecycle::Action const& action);
/// The registry has changed to this.
void count(probes::Metrics& metrics, discovery::RegistryStatus const& status);

}  // namespace lastcall::runtime
