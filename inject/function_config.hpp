// The options of a KRM function: the `functionConfig` of a ResourceList.
//
// kustomize and kpt pass a function's options in the input itself:
//
//     apiVersion: lastcall.dev/v1
//     kind: Inject
//     spec: {container: vllm, set: [engine.kind=vllm]}
//
// The keys of `spec` are the options of the command line: container, only, template, mode, image,
// shimImage, requireShim, set, and config, which contains the text of lastcall.yaml. Unknown keys
// are refused. Pure, no thread rule. Source: the KRM functions specification, v1.
#pragma once

#include "inject/inject.hpp"

namespace lastcall::inject {

/// Leaves `options` unchanged if the input is not a ResourceList or has no functionConfig.
config::Problems read_function_config(Input const& input, Options& options);

/// Parses "KIND=PATH"; nothing if the text has another form.
std::optional<TemplatePath> parse_template(std::string_view text);

}  // namespace lastcall::inject
