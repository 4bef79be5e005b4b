// The parts of a request's target that the router needs: whether it is routed, for which model, and
// when it may be sent to a second worker.
//
// Rules:
//  1. Endpoints that a worker answers from the request alone are routed. Endpoints that operate an
//     engine are not, nor are unknown ones (files, batches, upgraded connections).
//  2. A request is sent again only as its endpoint allows (Repeat), and only before its client has
//     received a byte.
//
// Pure, no thread rule. Source: relay/endpoint_name.hpp; the APIs of OpenAI, vLLM and SGLang.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::router {

enum class Routed : std::uint8_t { no, to_a_worker, list_of_models, one_model };

enum class Repeat : std::uint8_t {
  always,  // sending it twice only wastes work
  /// Allowed if no worker has begun it: it was refused explicitly, or no worker was reached.
  unless_begun,
  /// Allowed if no byte of it was sent, because the worker keeps state that it creates.
  unsent,
};

struct RouteKind {
  Routed routed = Routed::no;
  Repeat repeat = Repeat::unsent;
  std::uint8_t number = 0;  // number of its endpoint

  /// A static text, such as "chat_completions".
  std::string_view endpoint() const;
};

struct Route : RouteKind {
  std::string model;  // empty unless the path names it
};

/// `target` is in origin form and includes the query.
Route route_of(std::string_view method, std::string_view target);

/// Whether a body of this type is a form, in which one part names the model.
bool is_form(std::string_view content_type);

/// The facts that the body adds to the target.
struct Wanted {
  std::string model;  // empty if the body names none
  bool stream = false;
  bool continues_response = false;  // it has a previous_response_id
  bool is_kept = true;              // `store` is not false; matters only for responses
};
Wanted wanted_of(std::string_view body, bool is_form);

}  // namespace lastcall::router
