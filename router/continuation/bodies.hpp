// The bodies of a request's legs: the client's own, with what a leg needs besides spliced in.
//
// Rules:
//  1. No byte changes but the values named here and the fields that are added behind the last.
//  2. Nothing is added that the worker's mode does not take: an unknown key is a 400 for some.
//  3. A continuation's limits are lowered by the tokens that it keeps.
//
// Pure, no thread rule. Source: docs/continuation.md, 'Who can what'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "router/continuation/chunk.hpp"
#include "router/continuation/request.hpp"
#include "router/continuation/verifier.hpp"

namespace lastcall::router::continuation {

/// What a worker can, at one endpoint.
enum class Mode : std::uint8_t {
  none,        // nothing is known: nothing may be added
  text,        // usage in every chunk; a chat goes on behind the assistant's last message
  ids_vllm,    // that, and token ids: told, and taken as vLLM takes them
  ids_sglang,  // and taken as SGLang takes them
};

/// As the client sent it, with what makes it possible to go on elsewhere.
std::string first_body(Request const& request, Mode mode);

struct GoOn {
  Way way = Way::by_text;  // by_ids or by_text
  TokenIds ids;            // prompt and what is kept of the answer
  std::string text;        // the answer's text
  std::uint64_t kept = 0;  // tokens
};
std::string continued_body(Request const& request, Mode mode, GoOn const& how);
/// Makes such a body one for a single token, by which the worker has the prompt in its cache.
std::string warming_body(std::string_view body);

/// SGLang tells no ids in the stream of a chat, and answers 400 to the wish.
constexpr bool reports_ids(Mode mode, Endpoint endpoint) {
  return mode == Mode::ids_vllm || (mode == Mode::ids_sglang && endpoint == Endpoint::completions);
}
constexpr bool takes_ids(Mode mode) {
  return mode == Mode::ids_vllm || mode == Mode::ids_sglang;
}

}  // namespace lastcall::router::continuation
