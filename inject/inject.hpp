// `lastcall inject`: Kubernetes manifests that others wrote, with lastcall beside the engine.
//
// Rules:
//  1. Text is put in at the places of nodes. Every byte that was there stays, in its order, but for
//     a grace that is too short and a `null` where a list is needed, which the pod's annotation
//     keeps. A document that gets nothing comes out byte for byte.
//  2. All or nothing: with one refusal no output may be used. A refusal has a place, a reason, and
//     what was expected.
//  3. An object that has been injected is brought to what is asked for now, so that doing it twice
//     is doing it once. One that has lastcall from elsewhere is left alone.
//  4. uninject() undoes inject() byte for byte.
//  5. Before a text is handed out it is read again: it has to be YAML, to differ from what came in
//     only by what was put in, and to be undone to exactly that.
//
// Pure but for Options::check. No thread rule. The pod's form: pod_parts.hpp.
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
  std::string name;  // what problems call it
  std::string text;
};

/// The configuration of one sidecar, as its words and its file give it.
struct SidecarConfig {
  std::string file;                    // the text of lastcall.yaml; empty: none
  std::vector<std::string> overrides;  // "KEY=VALUE"
  std::int64_t pod_grace = 0;          // seconds
};

struct Options {
  /// The engine's container; else the pod's annotation lastcall.dev/container, else the first.
  std::optional<std::string> container;
  /// "KIND/NAME"; empty: what is marked lastcall.dev/inject, else the only workload there is.
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
  std::vector<std::string> texts;  // one an input
  config::Problems refusals;
  config::Problems notes;            // worth knowing, but not a reason to refuse
  std::vector<std::string> changed;  // "Deployment/vllm"
};

Outcome inject(std::vector<Input> const& inputs, Options const& options);
Outcome uninject(std::vector<Input> const& inputs, Options const& options);

}  // namespace lastcall::inject
