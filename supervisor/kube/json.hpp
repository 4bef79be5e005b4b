// Reading JSON that an API server sent, of which nothing is certain; and writing it on one line.
//
// Rules: what is missing or of another kind reads as null or empty, and nothing throws. Not UTF-8
// is written as U+FFFD. Pure, no thread rule; for the files of this folder.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace lastcall::kube::json {

using Json = nlohmann::ordered_json;

inline std::string dump(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Null where there is no such member, or no object to have it.
inline Json const& member(Json const& json, char const* name) {
  static Json const kNothing;
  if (!json.is_object()) {
    return kNothing;
  }
  auto const found = json.find(name);
  return found == json.end() ? kNothing : *found;
}

inline std::string text(Json const& json) {
  return json.is_string() ? json.get<std::string>() : std::string{};
}

}  // namespace lastcall::kube::json
