// The body that is posted to a registration service: from its own template, or everything as JSON.
//
// Pure, no thread rule. Source: docs/discovery.md, "http".
#pragma once

#include <string>
#include <string_view>

#include "discovery/instance.hpp"

namespace lastcall::discovery {

/// Replaces each ${name} by its value, escaped as in a JSON string; an unknown name stays.
/// `action` is "register" or "deregister". Without a template, the result is a JSON object with all
/// names.
std::string http_message(std::string_view pattern, std::string_view action,
                         Instance const& instance);

}  // namespace lastcall::discovery
