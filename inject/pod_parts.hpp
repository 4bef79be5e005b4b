// The parts that a pod gets: the container that copies the shim, the sidecar, volumes, and the
// additions to the engine's container.
//
// The chart's templates make the same pod (charts/lastcall-lib, `lastcall-lib.inject`); tests
// compare the two. Pure values, no thread rule. Source: docs/operations.md, 'Topologies'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inject/node.hpp"
#include "inject/pod_defaults.hpp"
#include "inject/value.hpp"

namespace lastcall::inject {

inline constexpr std::string_view kInstaller = "lastcall-install";
inline constexpr std::string_view kSidecar = "lastcall";
inline constexpr std::string_view kShim = "/opt/lastcall/lastcall-shim";
inline constexpr std::string_view kShimFolder = "/opt/lastcall";
inline constexpr std::string_view kSocketFolder = "/run/lastcall";
inline constexpr std::string_view kVolumes = "lastcall-";  // the prefix of their names
inline constexpr std::string_view kGraceVariable = "LASTCALL_POD_GRACE_SECONDS";
inline constexpr std::string_view kSocketVariable = "LASTCALL_SOCKET";
inline constexpr std::int64_t kProbePort = 7090;

/// All decisions about one pod.
struct PodPlan {
  bool is_native = true;    // the sidecar is an init container that keeps running
  bool is_prestop = false;  // a hook holds back the kubelet's TERM instead of a shim
  PodDefaults pod;
  std::string grace;           // shutdown.grace_period, "60s"
  std::int64_t pod_grace = 0;  // terminationGracePeriodSeconds
  std::int64_t user = 0;
  std::vector<std::string> words;  // after `serve`
  std::string config;              // lastcall.yaml, which is in the pod's annotation
  std::optional<std::int64_t> ingress_port;
};

Value installer(PodPlan const& plan);
Value sidecar(PodPlan const& plan);
std::vector<Value> volumes(PodPlan const& plan);
/// The Secrets of the plan that the pod's own list, which may be null, does not name.
std::vector<std::string> lacking_secrets(PodPlan const& plan, Node const* own);
std::vector<Value> pull_secrets(std::vector<std::string> const& names);
std::vector<Value> engine_env(PodPlan const& plan);
std::vector<Value> engine_mounts();
/// The words that are inserted before the engine's own command.
std::vector<Value> shim_words(PodPlan const& plan);
/// The `preStop` hook of the engine's container.
Value engine_hook();
Value engine_startup_probe();
Value engine_liveness_probe();

}  // namespace lastcall::inject
