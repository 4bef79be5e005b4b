// What an error that an engine has answered with shows about the engine itself.
//
// Rules:
//  1. An error object is the client's fault where its code is below 500, or a word, or where it has
//     none and its type blames the request. Anything else may be the engine's death.
//  2. One that states whether it may be sent again comes from a layer that knows: from lastcall's
//     own SDK or ingress below this one.
//  3. Anything else than an object with an error in it is none.
//
// Pure, no thread rule. Source: the error objects of vLLM, SGLang, OpenAI's and Anthropic's APIs.
#pragma once

#include <cstdint>
#include <string_view>

#include "relay/http_head.hpp"

namespace lastcall::relay {

enum class EngineError : std::uint8_t {
  none,
  complete,  // with all that there is to know
  suspect,   // it may be the engine's end
};

/// The judgement of a whole event.
EngineError error_of_event(std::string_view event);
/// The judgement of an answer's head.
EngineError error_of_answer(ResponseHead const& head);

}  // namespace lastcall::relay
