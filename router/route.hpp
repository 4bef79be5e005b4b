// The target of a request as far as the router needs it: whether it is routed, to which model, and
// when it may be sent to a second worker.
//
// Rules:
//  1. Endpoints that a worker answers from the request alone are routed. Endpoints that operate an
//     engine are not, nor are unknown ones (files, batches, upgraded connections).
//  2. A request is sent again as its endpoint allows (Repeat), and only before its client has a
//     byte.
//
// Pure, no thread rule. Source: relay/endpoint_name.hpp; the APIs of OpenAI, vLLM and SGLang.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::router {

enum class Routed : std::uint8_t { no, to_a_worker, list_of_models };

enum class Repeat : std::uint8_t {
  always,        // sending it twice only costs work
  unless_begun,  // if no worker has begun it: it was refused explicitly, or no worker was reached
  unsent,        // if no byte of it was sent, because the worker keeps state of it
};

struct RouteKind {
  Routed routed = Routed::no;
  Repeat repeat = Repeat::unsent;
  std::uint8_t number = 0;  // of its endpoint

  /// A static text, such as "chat_completions".
  std::string_view endpoint() const;
};

struct Route : RouteKind {
  std::string model;  // if the path names it
};

/// `target`: in origin form, with its query.
Route route_of(std::string_view method, std::string_view target);

/// Whether a body of this type names its model in a part of a form.
bool is_form(std::string_view content_type);

/// The facts that the body adds.
struct Wanted {
  std::string model;  // empty if it names none
  bool stream = false;
  bool continues_response = false;  // it has a previous_response_id
  bool is_kept = true;              // `store` is not false; of responses
};
Wanted wanted_of(std::string_view body, bool is_form);

}  // namespace lastcall::router
