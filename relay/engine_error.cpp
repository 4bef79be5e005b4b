#include "relay/engine_error.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"

namespace lastcall::relay {
namespace {

using json::Kind;
using Members = std::vector<json::Member>;

constexpr std::uint64_t kServerError = 500;

/// The data of an event: its `data` lines, joined.
std::string data_of(std::string_view event) {
  std::string data;
  while (!event.empty()) {
    std::size_t const end = std::min(event.find_first_of("\r\n"), event.size());
    std::string_view line = event.substr(0, end);
    event.remove_prefix(std::min(end + 1, event.size()));
    if (line.starts_with("data:")) {
      line.remove_prefix(5);
      data.append(data.empty() ? "" : "\n").append(line);
    }
  }
  return data;
}

json::Value const* find(Members const& members, std::string_view key) {
  auto const found = std::find_if(members.rbegin(), members.rend(),
                                  [key](json::Member const& m) { return m.key == key; });
  return found == members.rend() ? nullptr : &found->value;
}

/// Returns `code` as a number, even if it is written as a text; absent if it is a word, which no
/// server error has.
std::optional<std::uint64_t> code_of(json::Value const& code) {
  return json::to_unsigned({.kind = Kind::number, .escaped = false, .text = code.text});
}

bool blames_the_request(json::Value const* type) {
  if (type == nullptr || type->kind != Kind::string) {
    return false;
  }
  return type->text.find("invalid_request") != std::string_view::npos ||
         type->text.find("BadRequest") != std::string_view::npos;
}

EngineError error_of_object(std::string_view text) {
  Members error;
  if (json::read_object(text, error)) {
    return EngineError::none;
  }
  if (find(error, "retryable") != nullptr) {
    return EngineError::complete;
  }
  json::Value const* const code = find(error, "code");
  if (code == nullptr || code->kind == Kind::null) {
    return blames_the_request(find(error, "type")) ? EngineError::complete : EngineError::suspect;
  }
  return code_of(*code).value_or(0) >= kServerError ? EngineError::suspect : EngineError::complete;
}

}  // namespace

EngineError error_of_event(std::string_view event) {
  std::string const data = data_of(event);
  Members members;
  if (json::read_object(data, members)) {
    return EngineError::none;
  }
  json::Value const* const error = find(members, "error");
  if (error == nullptr) {  // an event that is named `error`
    json::Value const* const type = find(members, "type");
    bool const is_explicit = type != nullptr && type->kind == Kind::string && type->text == "error";
    return is_explicit ? error_of_object(data) : EngineError::none;
  }
  switch (error->kind) {
    case Kind::object:
      return error_of_object(error->text);
    case Kind::string:
      return EngineError::suspect;
    case Kind::null:
    case Kind::boolean:
    case Kind::number:
    case Kind::array:
      return EngineError::none;
  }
  return EngineError::none;
}

std::uint16_t status_of_error(std::string_view event) {
  constexpr std::uint64_t kFirst = 400;
  constexpr std::uint64_t kLast = 599;
  EngineError const kind = error_of_event(event);
  if (kind == EngineError::none) {
    return 0;
  }
  std::string const data = data_of(event);
  Members members;
  Members inner;
  if (!json::read_object(data, members)) {
    json::Value const* const error = find(members, "error");
    bool const is_object = error != nullptr && error->kind == Kind::object;
    bool const is_read = is_object && !json::read_object(error->text, inner);
    json::Value const* const code = find(is_read ? inner : members, "code");
    std::uint64_t const status = code != nullptr ? code_of(*code).value_or(0) : 0;
    if (status >= kFirst && status <= kLast) {
      return static_cast<std::uint16_t>(status);
    }
  }
  return static_cast<std::uint16_t>(kind == EngineError::complete ? kFirst : kServerError);
}

/// An answer that states when to come again, or why, is a refusal; a method that a server does not
/// know reveals nothing about its engine.
EngineError error_of_answer(ResponseHead const& head) {
  constexpr unsigned kNotImplemented = 501;
  constexpr unsigned kVersionNotSupported = 505;
  if (head.status < kServerError) {
    return EngineError::none;
  }
  std::string_view value;
  bool const is_refusal = head.fields.count("retry-after", value) > 0 ||
                          head.fields.count("x-lastcall-reason", value) > 0;
  bool const is_known = head.status == kNotImplemented || head.status == kVersionNotSupported;
  return is_refusal || is_known ? EngineError::complete : EngineError::suspect;
}

}  // namespace lastcall::relay
