#include "relay/endpoint_name.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "config/endpoint_names.hpp"
#include "relay/body_look.hpp"

namespace lastcall::relay {
namespace {

std::string_view name_of(std::string_view target) {
  return endpoint_of("POST", target, false).name;
}

TEST(EndpointName, Paths_of_the_known_apis_have_the_metrics_names) {
  EXPECT_EQ(name_of("/v1/completions"), "completions");
  EXPECT_EQ(name_of("/v1/chat/completions?x=1"), "chat_completions");
  EXPECT_EQ(name_of("/v1/embeddings/"), "embeddings");
  EXPECT_EQ(name_of("/v1/images/generations"), "images");
  EXPECT_EQ(name_of("/v1/videos"), "videos");
  EXPECT_EQ(name_of("/v1/audio/speech"), "audios");
  EXPECT_EQ(name_of("/v1/responses"), "responses");
  EXPECT_EQ(name_of("/v1/messages"), "anthropic_messages");
  EXPECT_EQ(name_of("/v2/models/bert/infer"), "tensor");
  EXPECT_EQ(endpoint_of("POST", "/v2/models/bert/versions/2/infer", false).model, "bert");
  EXPECT_EQ(name_of("/v1/completionsx"), "other");
  EXPECT_EQ(name_of("/anything"), "other");
}

TEST(EndpointName, A_models_name_in_a_path_is_unescaped) {
  EXPECT_EQ(unescaped("Qwen%2FQwen3%2d0.6B"), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(unescaped("100%"), "100%");
  EXPECT_EQ(unescaped("a%zz"), "a%zz");
  EXPECT_EQ(unescaped("line%0abreak"), "line%0abreak");
}

TEST(EndpointName, A_models_name_in_a_path_is_no_longer_than_one_in_a_body) {
  auto const model_of = [](std::size_t size) {
    std::string const path = "/v2/models/" + std::string(size, 'a') + "/infer";
    return std::string(endpoint_of("POST", path, false).model);
  };
  EXPECT_EQ(model_of(BodyLook::kMaxModel).size(), BodyLook::kMaxModel);
  EXPECT_EQ(model_of(BodyLook::kMaxModel + 1), "");
}

TEST(EndpointName, Each_name_that_the_configuration_knows_is_given_to_a_path) {
  std::set<std::string_view> given;
  for (std::string_view const path :
       {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/v1/images", "/v1/videos",
        "/v1/audio", "/v1/responses", "/v1/messages", "/v2/models/bert/infer", "/generate",
        "/rerank", "/score", "/pooling", "/classify", "/tokenize", "/invocations", "/v1/realtime",
        "/anything"}) {
    given.insert(name_of(path));
  }
  EXPECT_EQ(given, std::set(config::kEndpointNames.begin(), config::kEndpointNames.end()));
}

TEST(EndpointName, Looking_does_not_count_and_work_does) {
  for (std::string_view const path :
       {"/health", "/metrics", "/v1/models", "/", "/v2/models/bert"}) {
    EXPECT_FALSE(endpoint_of("GET", path, false).counts) << path;
  }
  EXPECT_FALSE(endpoint_of("DELETE", "/lastcall/calls/0a", false).counts);
  EXPECT_FALSE(endpoint_of("HEAD", "/v1/completions", false).counts);
  EXPECT_TRUE(endpoint_of("POST", "/v1/completions", false).counts);
  EXPECT_TRUE(endpoint_of("POST", "/unknown", false).counts);
  EXPECT_TRUE(endpoint_of("GET", "/v1/realtime", true).counts);
}

}  // namespace
}  // namespace lastcall::relay
