// A workload: its place in the API, its pods, and whether its rollout is over.
//
// Pure, no thread rule. Source: `kubectl rollout status` for what 'over' means.
#pragma once

#include <optional>
#include <string>

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {

struct WorkloadKind {
  char const* name;      // "deployment"
  char const* shortest;  // "deploy"
  char const* group;     // "apps/v1"
  char const* plural;    // "deployments"
  bool (*is_over)(Json const&);
};

struct WorkloadName {
  WorkloadKind const* kind;
  std::string name;
};

/// Reads "deployment/vllm"; nothing if the kind is not known.
std::optional<WorkloadName> parse_workload(std::string const& text);
/// "deployment, statefulset, ...".
std::string known_kinds();
/// The workload's selector in the form for a query; empty if it has none that we support.
std::string selector_of(WorkloadName const& workload, Json const& object);

}  // namespace lastcall::kube
