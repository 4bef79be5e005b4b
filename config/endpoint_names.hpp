// The names that the ingress gives to the paths of known APIs: what `endpoints[].name` may be
// beside a path and the names that SDKs choose.
//
// Pure values, no thread rule. Source: docs/ingress.md, 'What counts'; ingress/endpoint_name.cpp
// gives no other name, and each of these to some path.
#pragma once

#include <array>
#include <string_view>

namespace lastcall::config {

inline constexpr auto kEndpointNames = std::to_array<std::string_view>(
    {"anthropic_messages", "audios", "chat_completions", "classify", "completions", "embeddings",
     "generate", "images", "invocations", "other", "pooling", "realtime", "rerank", "responses",
     "score", "tensor", "tokenize", "videos"});

}  // namespace lastcall::config
