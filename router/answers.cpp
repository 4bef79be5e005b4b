#include "router/answers.hpp"

#include "base/json_writer.hpp"

namespace lastcall::router {
namespace {

void append_json(std::string& out, std::string_view status, std::string_view body,
                 Answering const& how) {
  out.append("HTTP/1.1 ").append(status).append("\r\nContent-Type: application/json\r\n");
  out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  if (!how.request_id.empty()) {
    out.append("X-Request-Id: ").append(how.request_id).append("\r\n");
  }
  out.append(how.close ? "Connection: close\r\n\r\n" : "\r\n");
  if (!how.head_only) {
    out.append(body);
  }
}

struct Error {
  std::string_view status;
  std::string_view message;
  std::string_view type;
  std::string_view parameter;  // empty: the JSON value is null
  std::string_view code;
};

void append_error(std::string& out, Error const& error, Answering const& how) {
  std::string body = R"({"error":{"message":)";
  json::append_string(body, error.message);
  body.append(R"(,"type":")").append(error.type).append(R"(","param":)");
  if (error.parameter.empty()) {
    body.append("null");
  } else {
    body.append("\"").append(error.parameter).append("\"");
  }
  body.append(R"(,"code":")").append(error.code).append("\"}}\n");
  append_json(out, error.status, body, how);
}

std::string model_object(std::string_view model) {
  std::string object = R"({"id":)";
  json::append_string(object, model);
  return object.append(R"(,"object":"model","created":0,"owned_by":"lastcall"})");
}

constexpr std::string_view kNotFound = "404 Not Found";
constexpr std::string_view kBadRequest = "400 Bad Request";
constexpr std::string_view kInvalid = "invalid_request_error";

}  // namespace

void append_model_not_found(std::string& out, std::string_view model, Answering const& how) {
  std::string const message = "The model `" + std::string(model) + "` does not exist.";
  append_error(out, {kNotFound, message, kInvalid, "model", "model_not_found"}, how);
}

void append_not_routed(std::string& out, Answering const& how) {
  append_error(out, {kNotFound, "This path is not routed to workers.", kInvalid, "", "not_found"},
               how);
}

void append_model_missing(std::string& out, Answering const& how) {
  append_error(out,
               {kBadRequest,
                "The request names no model, or one of more than 256 bytes; expected one "
                "that /v1/models lists.",
                kInvalid, "model", "missing_model"},
               how);
}

void append_not_its_worker(std::string& out, Answering const& how) {
  append_error(out,
               {kBadRequest,
                "An earlier response is known only to the worker that produced it; send the "
                "whole conversation instead.",
                kInvalid, "previous_response_id", "previous_response_not_found"},
               how);
}

void append_model(std::string& out, std::string_view model, Answering const& how) {
  std::string body = model_object(model);
  append_json(out, "200 OK", body.append("\n"), how);
}

void append_models(std::string& out, std::vector<std::string> const& models, Answering const& how) {
  std::string body = R"({"object":"list","data":[)";
  for (std::string const& model : models) {
    body.append(body.back() == '[' ? "" : ",").append(model_object(model));
  }
  append_json(out, "200 OK", body.append("]}\n"), how);
}

}  // namespace lastcall::router
