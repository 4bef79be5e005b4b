// The values that an injection puts into every pod, unless the pod itself sets something else:
// images, users, times, resources.
//
// The values are those of charts/lastcall-lib (`lastcall-lib.defaults`), and users of
// charts/lastcall-injector can change them; tests compare the three. Pure values, no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lastcall::inject {

/// Names and quantities of Kubernetes, or names and values, in their order.
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Resources {
  Pairs requests;
  Pairs limits;
};

struct PodDefaults {
  std::string image;
  std::string pull_policy = "IfNotPresent";  // empty: the cluster's own
  std::string shim_image;
  std::string shim_pull_policy = "IfNotPresent";
  /// Names of Secrets with which the kubelet pulls the two images, added to the pod's own.
  std::vector<std::string> pull_secrets;
  /// The sidecar's user if the engine's user is not known or is root.
  std::int64_t user = 65532;
  /// shutdown.grace_period, if the pod's own grace has no room for more.
  std::string grace = "60s";
  Resources install{.requests = {{"cpu", "10m"}, {"memory", "8Mi"}},
                    .limits = {{"memory", "32Mi"}}};
  /// The memory `auto` is 128Mi, or 1Gi if the sidecar has an ingress.
  Resources sidecar{.requests = {{"cpu", "50m"}, {"memory", "32Mi"}},
                    .limits = {{"memory", "auto"}}};
  Pairs env;  // for the sidecar, after its own variables
};

}  // namespace lastcall::inject
