// The parts that a pod gets: the container that copies the shim, the sidecar, volumes, and what the
// engine's container needs of them.
//
// The chart's templates give the same pod (charts/lastcall-lib, `lastcall-lib.inject`); tests hold
// the two together. Pure values, no thread rule. Source: docs/operations.md, 'Topologies'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inject/pod_defaults.hpp"
#include "inject/value.hpp"

namespace lastcall::inject {

inline constexpr std::string_view kInstaller = "lastcall-install";
inline constexpr std::string_view kSidecar = "lastcall";
inline constexpr std::string_view kShim = "/opt/lastcall/lastcall-shim";
inline constexpr std::string_view kShimFolder = "/opt/lastcall";
inline constexpr std::string_view kSocketFolder = "/run/lastcall";
inline constexpr std::string_view kVolumes = "lastcall-";  // what their names begin with
inline constexpr std::string_view kGraceVariable = "LASTCALL_POD_GRACE_SECONDS";
inline constexpr std::string_view kSocketVariable = "LASTCALL_SOCKET";
inline constexpr std::int64_t kProbePort = 7090;

/// All that is decided about one pod.
struct PodPlan {
  bool is_native = true;    // the sidecar as an init container that stays
  bool is_prestop = false;  // no shim in front of the engine: a hook holds the kubelet's TERM
  PodDefaults pod;
  std::string grace;           // shutdown.grace_period, "60s"
  std::int64_t pod_grace = 0;  // terminationGracePeriodSeconds
  std::int64_t user = 0;
  std::vector<std::string> words;  // after `serve`
  std::string config;              // lastcall.yaml, which the pod's annotation carries
  std::optional<std::int64_t> ingress_port;
};

Value installer(PodPlan const& plan);
Value sidecar(PodPlan const& plan);
std::vector<Value> volumes(PodPlan const& plan);
std::vector<Value> engine_env(PodPlan const& plan);
std::vector<Value> engine_mounts();
/// The words that go before the engine's own command.
std::vector<Value> shim_words(PodPlan const& plan);
/// `preStop` of the engine's container.
Value engine_hook();
Value engine_startup_probe();
Value engine_liveness_probe();

}  // namespace lastcall::inject
