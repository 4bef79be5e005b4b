// The target of a request, as far as the router has to know it: whether it is routed at all, to
// which model, and when it may be sent to a second worker.
//
// Rules:
//  1. Routed are the endpoints that a worker answers from the request alone. Endpoints that operate
//     an engine are not, nor are unknown ones (files, batches, upgraded connections).
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
  always,        // sending it twice costs work, and nothing else
  unless_begun,  // where no worker has begun it: it was refused in words, or no worker was there
  unsent,        // where no byte of it was sent: the worker keeps something of it
};

struct RouteKind {
  Routed routed = Routed::no;
  Repeat repeat = Repeat::unsent;
  std::uint8_t number = 0;  // of its endpoint

  /// "chat_completions"; lives for ever.
  std::string_view endpoint() const;
};

struct Route : RouteKind {
  std::string model;  // where the path says it
};

/// `target`: in origin form, with its query.
Route route_of(std::string_view method, std::string_view target);

/// A body of this type names its model in a part of a form.
bool is_form(std::string_view content_type);

/// The facts that the body adds.
struct Wanted {
  std::string model;  // empty: it names none
  bool stream = false;
  bool continues_response = false;  // it has a previous_response_id
  bool is_kept = true;              // `store` is not false; of responses
};
Wanted wanted_of(std::string_view body, bool is_form);

}  // namespace lastcall::router
