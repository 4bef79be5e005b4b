// Finds which endpoint a request is for, and whether it counts as work.
//
// Rules:
//  1. Names are those of the cancellation metrics; paths are those of the OpenAI, Anthropic and
//     KServe v2 APIs and of the engines' own servers. Names are a closed set: labels are bounded.
//  2. A request counts (is tracked, drained, cancelled, admitted) unless it only reads: GET, HEAD
//     and OPTIONS without an upgrade, and the messages of one tier to another. Requests that
//     operate the server do not count either: control_paths.hpp.
//
// Pure, no thread rule. Source: the label values of dynamo_frontend_model_cancellation_total; the
// route tables of vLLM, SGLang, TensorRT-LLM; KServe's Open Inference Protocol.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::relay {

inline constexpr std::string_view kOtherEndpoint = "other";

struct EndpointName {
  std::string_view name;   // "chat_completions"; kOtherEndpoint if none is known
  std::string_view model;  // as written in the path (KServe), else empty
  bool counts = false;
};

/// `target` is in origin form, with its query.
EndpointName endpoint_of(std::string_view method, std::string_view target, bool upgrade);

/// The path with its %XX decoded, or unchanged if the result would not be text.
std::string unescaped(std::string_view text);

/// The path without its query and its last slash.
std::string_view path_of(std::string_view target);

}  // namespace lastcall::relay
