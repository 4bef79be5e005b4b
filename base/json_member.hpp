// Reads JSON from other programs, of which nothing is certain, and writes it on one line.
//
// Rules: a member that is missing or of another kind reads as null or empty, and nothing throws. A
// text that would cost more than its length is no JSON (json_limits.hpp). Bytes that are not UTF-8
// are written as U+FFFD. `Json` is nlohmann's ordered_json: a parameter, so that this header needs
// no library. Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>

#include "base/json_limits.hpp"

namespace lastcall::json {

/// Discarded where it is no JSON, or above the limits.
template <class Json>
Json parsed(std::string_view text, Limits const& limits = {}) {
  return fits(text, limits) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

template <class Json>
std::string dump(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Null where there is no such member, or no object to have it.
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
