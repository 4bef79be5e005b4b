// Whole responses that the router gives by itself, in the form of OpenAI's API.
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

/// 404: `model` is what the request named, whatever bytes that are.
void append_model_not_found(std::string& out, std::string_view model, Answering const& how);
/// 404: for paths that operate an engine, and for unknown paths.
void append_not_routed(std::string& out, Answering const& how);
/// 400: it names no model, and there are several.
void append_model_missing(std::string& out, Answering const& how);
/// 400: `previous_response_id` where several workers could have it.
void append_not_its_worker(std::string& out, Answering const& how);
/// 200: what `GET /v1/models` lists.
void append_models(std::string& out, std::vector<std::string> const& models, Answering const& how);

}  // namespace lastcall::router
