// Complete responses that the router generates itself, in the format of OpenAI's API.
//
// Pure, no thread rule. Source: OpenAI's API reference, 'Errors' and 'Models'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lastcall::router {

struct Answering {
  std::string_view request_id;
  bool close = false;
  bool head_only = false;
};

/// 404. `model` is the name in the request; it may contain any bytes.
void append_model_not_found(std::string& out, std::string_view model, Answering const& how);
/// 404, for paths that operate an engine and for unknown paths.
void append_not_routed(std::string& out, Answering const& how);
/// 400: the request names no model (relay::BodyLook takes none that is longer than 256 bytes), and
/// there are several.
void append_model_missing(std::string& out, Answering const& how);
/// 400: the request has a `previous_response_id`, and several workers could hold that response.
void append_not_its_worker(std::string& out, Answering const& how);
/// 200: the answer to `GET /v1/models`.
void append_models(std::string& out, std::vector<std::string> const& models, Answering const& how);
/// 200: the answer to `GET /v1/models/MODEL`.
void append_model(std::string& out, std::string_view model, Answering const& how);

}  // namespace lastcall::router
