// The environment's part of the configuration.
//
// Rules:
//  1. Variables are read through an Environment, so that a test can set them.
//  2. An empty variable counts as unset, as charts and shells leave such behind.
//
// No thread rule; process_environment() reads getenv(3), which nothing of ours changes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

using Environment = std::function<std::optional<std::string>(char const* name)>;

Environment process_environment();

/// The grace that the pod grants, and why it is thought so.
struct PodGrace {
  std::optional<Duration> value;  // nothing outside a pod
  std::string note;               // one sentence; empty: outside a pod
};

/// From LASTCALL_POD_GRACE_SECONDS; unset inside a pod (KUBERNETES_SERVICE_HOST is set) it is the
/// Kubernetes default of 30 s. A value that is no number of seconds is a problem.
PodGrace pod_grace(Environment const& environment, Problems& problems);

}  // namespace lastcall::config
