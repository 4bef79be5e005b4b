// Evaluates what an engine's error answer shows about the engine itself.
//
// Rules:
//  1. An error object is the client's fault if its code is a number below 500 or a word, or if it
//     has no code and its type blames the request. Anything else may be the engine's death.
//  2. An error that states whether the request may be sent again comes from lastcall's own SDK, or
//     from an ingress of lastcall behind this one. They know, so it is passed on.
//  3. Anything other than an object that contains an error is not an error.
//
// Pure, no thread rule. Source: the error objects of vLLM, SGLang, OpenAI's and Anthropic's APIs.
#pragma once

#include <cstdint>
#include <string_view>

#include "relay/http_head.hpp"

namespace lastcall::relay {

enum class EngineError : std::uint8_t {
  none,
  complete,  // it has everything that is known
  suspect,   // it may mean the engine's death
};

/// Judges a whole event.
EngineError error_of_event(std::string_view event);
/// The status that an answer would have had which consists of the error in an event: its code, or
/// else 400 if it blames the request and 500 if it does not; 0 if the event has no error.
std::uint16_t status_of_error(std::string_view event);
/// Judges the head of an answer.
EngineError error_of_answer(ResponseHead const& head);

}  // namespace lastcall::relay
