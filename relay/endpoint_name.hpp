// Which endpoint a request is for, and whether it counts as work.
//
// Rules:
//  1. Names are those of the cancellation metrics; paths are those of the OpenAI, Anthropic and
//     KServe v2 APIs and of the engines' own servers. Names are a closed set: labels are bounded.
//  2. A request counts (is tracked, drained, cancelled, admitted) unless it only looks: GET, HEAD
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
  std::string_view name;   // "chat_completions"; kOtherEndpoint where none is known
  std::string_view model;  // where the path has it (KServe), as it is written there; else empty
  bool counts = false;
};

/// `target`: in origin form, with its query.
EndpointName endpoint_of(std::string_view method, std::string_view target, bool upgrade);

/// With its %XX as the bytes that they stand for; as it is where that is no text.
std::string unescaped(std::string_view text);

/// Without its query and its last slash.
std::string_view path_of(std::string_view target);

}  // namespace lastcall::relay
