// The selection of workloads among the inputs.
//
// Rules:
//  1. lastcall.dev/inject: "false" (an annotation or label of the pod's template or the object)
//     always excludes a workload; "true" includes it. `only` selects exactly those that it names.
//  2. `container` restricts the selection: a workload without such a container is left alone, or
//     refused if it was named or marked.
//  3. Nothing is guessed: several workloads without a choice among them are a refusal that lists
//     them, and a workload that may be meant and hides its containers is one, too.
//
// Internal to inject. Pure, no thread rule.
#pragma once

#include <string>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::inject {

/// A target and the input that contains it.
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
