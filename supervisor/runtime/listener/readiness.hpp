// Decides what `/readyz` reports: whether requests should be sent here and, if not, why.
//
// Rules:
//  1. An instance is ready if it serves and, if there are registries, has been registered in each
//     of them once. A registration that is lost later does not count: if all replicas lose the same
//     etcd, reporting them as not ready would cause an outage.
//  2. A pod that is being deleted leaves the endpoint list anyway, and late clients still need it:
//     with evidence of the deletion, `auto` stays ready through phase 1; otherwise it becomes
//     unready at once.
//  3. A busy engine never makes it unready, because that would cause an outage while all replicas
//     are busy. An unresponsive engine does, until it answers again. A registry that is slow to
//     register it again does not.
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
