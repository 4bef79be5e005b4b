// The common parts of the views of JSON documents: they show a document's members as text for
// people. Pure functions.
//
// If a document lacks a member or the member has another type, its fallback is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "supervisor/cli/status_view.hpp"

namespace lastcall::cli {

using JsonValue = nlohmann::ordered_json;

/// Only the first line of the text: the log has the rest of a traceback.
std::string member_text(JsonValue const& object, char const* key, std::string fallback = {});
std::int64_t member_number(JsonValue const& object, char const* key, std::int64_t fallback = 0);
bool member_flag(JsonValue const& object, char const* key);

std::string painted(std::string const& text, bool good, ViewOptions options);

}  // namespace lastcall::cli
