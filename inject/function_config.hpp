// The options of a KRM function: the `functionConfig` of a ResourceList.
//
// kustomize and kpt hand a function its options in the input itself:
//
//     apiVersion: lastcall.dev/v1
//     kind: Inject
//     spec: {container: vllm, set: [engine.kind=vllm]}
//
// The keys of `spec` are the options of the command line: container, only, template, mode, image,
// shimImage, requireShim, set, and config, which has the text of lastcall.yaml. Unknown ones are
// refused. Pure, no thread rule. Source: the KRM functions specification, v1.
#pragma once

#include "inject/inject.hpp"

namespace lastcall::inject {

/// Nothing happens to `options` where the input is not a ResourceList, or has no functionConfig.
config::Problems read_function_config(Input const& input, Options& options);

/// "KIND=PATH"; nothing where it is not.
std::optional<TemplatePath> parse_template(std::string_view text);

}  // namespace lastcall::inject
