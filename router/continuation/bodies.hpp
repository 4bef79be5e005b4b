// The bodies of a request's legs: the client's own body, with the fields spliced in that a leg
// needs.
//
// Rules:
//  1. No byte changes except the values named here and the fields that are added after the last
//     one.
//  2. Nothing is added that the worker's mode does not accept, because some workers answer an
//     unknown key with 400.
//  3. A continuation's limits are lowered by the tokens that it keeps.
//
// Pure, no thread rule. Source: docs/continuation.md, 'What each worker can do'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "router/continuation/chunk.hpp"
#include "router/continuation/request.hpp"
#include "router/continuation/verifier.hpp"

namespace lastcall::router::continuation {

/// What a worker accepts at one endpoint.
enum class Mode : std::uint8_t {
  none,  // nothing is known, so nothing may be added
  /// It reports usage in every chunk, and continues a chat after the assistant's last message.
  text,
  ids_vllm,    // in addition, it reports token ids, and takes them as vLLM does
  ids_sglang,  // in addition, it reports token ids, and takes them as SGLang does
};

/// The client's body, with the fields that make it possible to continue elsewhere.
std::string first_body(Request const& request, Mode mode);
/// Whether that is not the client's body as it is.
bool adds_to(Request const& request, Mode mode);

struct GoOn {
  Way way = Way::by_text;  // by_ids or by_text
  TokenIds ids;            // the prompt, and the ids of the answer that are kept
  std::string text;        // the answer's text
  std::uint64_t kept = 0;  // number of tokens of the answer that are kept
};
std::string continued_body(Request const& request, Mode mode, GoOn const& how);
/// Turns a continued body into one for a single token, which brings the prompt into the worker's
/// cache.
std::string warming_body(std::string_view body);

/// SGLang reports no ids in the stream of a chat, and answers a request for them with 400.
constexpr bool reports_ids(Mode mode, Endpoint endpoint) {
  return mode == Mode::ids_vllm || (mode == Mode::ids_sglang && endpoint == Endpoint::completions);
}
constexpr bool takes_ids(Mode mode) {
  return mode == Mode::ids_vllm || mode == Mode::ids_sglang;
}

}  // namespace lastcall::router::continuation
