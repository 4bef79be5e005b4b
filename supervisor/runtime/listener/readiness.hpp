// What `/readyz` reports: whether requests should come, and if not, why.
//
// Rules:
//  1. Ready means serving and, where there are registries, to have been registered in each of them
//     once. A registration that is lost later does not count: if all replicas lose the same etcd,
//     turning them off would cause an outage.
//  2. A pod that is being deleted leaves the endpoint list anyway, and late clients still need it:
//     with deletion evidence `auto` stays ready through phase 1, otherwise it is off at once.
//  3. A busy engine never turns it off, because busy replicas would cause an outage. An
//     unresponsive engine does, until it answers again; a registry that is slow to register it
//     again does not.
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
