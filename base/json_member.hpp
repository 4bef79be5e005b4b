// Reads JSON from other programs without trusting its shape, and writes JSON on one line.
//
// Rules: a member that is missing or has another type reads as null or empty, and nothing throws. A
// text that exceeds the limits of json_limits.hpp does not count as JSON. Bytes that are not UTF-8
// are written as U+FFFD. `Json` is nlohmann's ordered_json; it is a parameter so that this header
// needs no library. Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>

#include "base/json_limits.hpp"

namespace lastcall::json {

/// A discarded value if the text is not JSON or exceeds the limits.
template <class Json>
Json parsed(std::string_view text, Limits const& limits = {}) {
  return fits(text, limits) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

template <class Json>
std::string dump(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Null if there is no such member or `json` is not an object.
template <class Json>
Json const& member(Json const& json, char const* name) {
  static Json const kNothing;
  if (!json.is_object()) {
    return kNothing;
  }
  auto const found = json.find(name);
  return found == json.end() ? kNothing : *found;
}

template <class Json>
std::string text(Json const& json) {
  return json.is_string() ? json.template get<std::string>() : std::string{};
}

}  // namespace lastcall::json
