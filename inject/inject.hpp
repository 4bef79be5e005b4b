// `lastcall inject`: adds lastcall to the engine's pod in Kubernetes manifests that others wrote.
//
// Rules:
//  1. Text is inserted at the places of nodes. Every existing byte stays, in its order, except for
//     a grace that is too short and a `null` where a list is needed; the pod's annotation records
//     these. A document without an injection is output byte for byte.
//  2. All or nothing: with one refusal no output may be used. A refusal has a place, a reason, and
//     what was expected.
//  3. An object that was injected before is updated to the current options, so injecting twice has
//     the same result as injecting once. An object that has lastcall from elsewhere is left alone.
//  4. uninject() undoes inject() byte for byte.
//  5. Every output is read again before it is returned: it must be YAML, must differ from the input
//     only by what was inserted, and undoing must restore exactly the input.
//
// Pure except for Options::check. No thread rule. The form of the pod is in pod_parts.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/problem.hpp"
#include "inject/pod_defaults.hpp"
#include "inject/target.hpp"

namespace lastcall::inject {

struct Input {
  std::string name;  // its name in problems
  std::string text;
};

/// The configuration of one sidecar, from its arguments and its file.
struct SidecarConfig {
  std::string file;                    // the text of lastcall.yaml; empty: none
  std::vector<std::string> overrides;  // "KEY=VALUE"
  std::int64_t pod_grace = 0;          // seconds
};

struct Options {
  /// The engine's container; by default the one that the annotation lastcall.dev/container names,
  /// or else the main one.
  std::optional<std::string> container;
  /// "KIND/NAME"; if empty: the workloads marked lastcall.dev/inject, else the only workload.
  std::vector<std::string> only;
  std::vector<TemplatePath> templates;
  bool is_native = true;
  bool requires_shim = false;  // refuse a container without a command
  PodDefaults pod;
  std::string config;  // the text of lastcall.yaml; empty: none
  std::vector<std::string> overrides;
  /// The problems that `lastcall check` finds in a sidecar's configuration.
  std::function<config::Problems(SidecarConfig const&)> check;
};

struct Outcome {
  std::vector<std::string> texts;  // one for each input
  config::Problems refusals;
  config::Problems notes;            // useful to know, but not reasons to refuse
  std::vector<std::string> changed;  // "Deployment/vllm"
};

Outcome inject(std::vector<Input> const& inputs, Options const& options);
Outcome uninject(std::vector<Input> const& inputs, Options const& options);

}  // namespace lastcall::inject
