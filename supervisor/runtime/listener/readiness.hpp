// Whether requests should come, and why not: what `/readyz` reports.
//
// Rules:
//  1. Ready means serving and, where there are registries, to have been registered in each of them
//     once. One that is lost later does not count: where all replicas lose the same etcd, turning
//     them off would make an outage of it.
//  2. A pod that is being deleted leaves the endpoint list anyway, and late clients still need it:
//     with deletion evidence `auto` stays ready through phase 1, otherwise it is off at once.
//  3. Being busy never turns it off: all replicas busy would be an outage. An engine that is
//     unresponsive does, until it answers again; a registry that is slow to take it back does not.
//
// Pure, no thread rule. Source: specification, 'Probes'; Kubernetes, pod termination.
#pragma once

#include <string>

#include "config/schema.hpp"
#include "core/report.hpp"

namespace lastcall::runtime {

struct Readiness {
  bool is_ready = false;
  std::string reason;
};

Readiness readiness_of(lifecycle::Snapshot const& snapshot, config::ReadinessOnStop on_stop,
                       bool were_all_registered);

}  // namespace lastcall::runtime
