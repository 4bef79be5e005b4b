// The environment's part of the configuration.
//
// Rules:
//  1. Variables are read through an Environment, so that a test can set them.
//  2. An empty variable counts as unset, because charts and shells easily leave empty ones.
//
// No thread rule; process_environment() calls getenv(3), and our programs change their environment
// only before they have other threads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

using Environment = std::function<std::optional<std::string>(char const* name)>;

Environment process_environment();

/// The path of a command that execvp(3) would run; absent if there is none. A command with a slash
/// is a path.
std::optional<std::string> find_command(std::string const& command, Environment const& environment);

/// The grace period that the pod grants, and how it was determined.
struct PodGrace {
  std::optional<Duration> value;  // nothing outside a pod
  std::string note;               // one sentence; empty: outside a pod
};

/// Read from LASTCALL_POD_GRACE_SECONDS; if that is unset inside a pod (KUBERNETES_SERVICE_HOST is
/// set), the result is the Kubernetes default of 30 s. A value that is not a number of seconds is a
/// problem.
PodGrace pod_grace(Environment const& environment, Problems& problems);

}  // namespace lastcall::config
