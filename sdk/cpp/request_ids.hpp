// The ids and names that the protocol carries.
//
// Pure functions, no thread rule. Source: docs/ipc.md, 'request.begin'.
#pragma once

#include <string>

namespace lastcall::sdk {

/// Throws std::invalid_argument, with `what` in its message, if the text cannot be an id.
std::string checked_id(std::string id, char const* what = "request id");
std::string random_id();

}  // namespace lastcall::sdk
