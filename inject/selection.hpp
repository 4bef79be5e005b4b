// The selection of workloads among the inputs.
//
// Rules:
//  1. lastcall.dev/inject: "false" (annotation or label, of the pod's template or the object)
//     always excludes; "true" includes. With `only`, those that it names are meant and no others.
//  2. `container` narrows: a workload without such a container is left alone, and refused where it
//     was named or marked.
//  3. Nothing is guessed: several workloads and no choice among them is a refusal that lists them.
//
// Internal to inject. Pure, no thread rule.
#pragma once

#include <string>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::inject {

/// A target and the input that it is in.
struct Choice {
  std::size_t input = 0;
  Target target;
};

struct Selection {
  std::vector<Choice> chosen;
  config::Problems refusals;
};

Selection select(std::vector<Input> const& inputs, std::vector<Stream> const& streams,
                 Options const& options);

}  // namespace lastcall::inject
