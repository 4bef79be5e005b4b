// Injections of one text, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::inject {

inline Options options() {
  Options options;
  options.pod.image = "lastcall:1";
  options.pod.shim_image = "lastcall-shim:1";
  return options;
}

inline std::vector<Input> one(std::string text) {
  return {{"m.yaml", std::move(text)}};
}

inline std::vector<std::string> refusals_of(Outcome const& outcome) {
  std::vector<std::string> texts;
  for (config::Problem const& problem : outcome.refusals) {
    texts.push_back(to_text(problem));
  }
  return texts;
}

/// The text with lastcall in it; for a refusal its first words.
inline std::string injected(std::string const& text, Options const& with = options()) {
  Outcome const outcome = inject(one(text), with);
  return outcome.refusals.empty() ? outcome.texts.at(0) : refusals_of(outcome).at(0);
}

inline std::string uninjected(std::string const& text) {
  Outcome const outcome = uninject(one(text), options());
  return outcome.refusals.empty() ? outcome.texts.at(0) : refusals_of(outcome).at(0);
}

inline constexpr char const* kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.0
          command: [vllm, serve]  # the image's entry point
          args: ["Qwen/Qwen3-0.6B"]
          ports:
            - containerPort: 8000
)";

}  // namespace lastcall::inject
