// Dynamo's name of an endpoint within the component: an engine has one name for its whole API.
//
// Pure values, no thread rule. Source: Dynamo's metric names and labels.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace lastcall::probes {

/// The names that the ingress and the ASGI middleware give to the paths of an engine's API.
inline constexpr std::array kApiEndpoints = std::to_array<std::string_view>(
    {"chat_completions", "completions", "embeddings", "images", "videos", "audios", "responses",
     "anthropic_messages", "rerank", "score", "pooling", "classify", "tensor", "tokenize",
     "invocations", "realtime", "other"});

class ComponentEndpoint {
 public:
  /// `name` is the engine's name, not the API's name for an endpoint.
  explicit ComponentEndpoint(std::string name) : name_(std::move(name)) {}

  std::string_view own_name(std::string_view endpoint) const {
    bool const is_api =
        std::find(kApiEndpoints.begin(), kApiEndpoints.end(), endpoint) != kApiEndpoints.end();
    return is_api || endpoint.empty() ? std::string_view(name_) : endpoint;
  }

 private:
  std::string name_;
};

}  // namespace lastcall::probes
