// Turns the core's notes into metrics.
//
// Thread rule: the loop's thread.
#pragma once

#include "core/action.hpp"
#include "probes/metrics/metrics.hpp"

namespace lastcall::runtime {

void count(probes::Metrics& metrics, lifecycle::Action const& action);

}  // namespace lastcall::runtime
