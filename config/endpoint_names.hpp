// The names that the ingress gives to the paths of known APIs. `endpoints[].name` may be one of
// them, a path, or a name that an SDK chose.
//
// Pure values, no thread rule. Source: docs/ingress.md, 'What counts'; relay/endpoint_name.cpp
// gives exactly these names, each to at least one path.
#pragma once

#include <array>
#include <string_view>

namespace lastcall::config {

inline constexpr auto kEndpointNames = std::to_array<std::string_view>(
    {"anthropic_messages", "audios", "chat_completions", "classify", "completions", "embeddings",
     "generate", "images", "invocations", "other", "pooling", "realtime", "rerank", "responses",
     "score", "tensor", "tokenize", "videos"});

}  // namespace lastcall::config
