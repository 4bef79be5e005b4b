// The parts that the views of JSON documents share: a document's members as text for people. Pure
// functions.
//
// A member that a document lacks, or has as another kind, is shown as its fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "supervisor/cli/status_view.hpp"

namespace lastcall::cli {

using JsonValue = nlohmann::ordered_json;

/// No object: it is not JSON.
JsonValue parse_json(std::string_view text);
/// Only its first line: the log has the rest of a traceback.
std::string member_text(JsonValue const& object, char const* key, std::string fallback = {});
std::int64_t member_number(JsonValue const& object, char const* key, std::int64_t fallback = 0);
bool member_flag(JsonValue const& object, char const* key);
JsonValue const& member_of(JsonValue const& object, char const* key);

std::string painted(std::string const& text, bool good, ViewOptions options);

}  // namespace lastcall::cli
