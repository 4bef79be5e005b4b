// The requests in flight as a table: JSON in, text out. Pure functions.
//
// Rules:
//  1. Users' requests are in the order of their age, the oldest first; what is part of one stands
//     below it, indented.
//  2. Where a terminal is too narrow, columns are left out in an order that keeps what
//     distinguishes a request from others, and its id is cut last.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "supervisor/cli/json_view.hpp"

namespace lastcall::cli {

/// `columns`: of the terminal; 0: as wide as it is.
std::string requests_text(std::vector<JsonValue> const& requests, std::size_t columns);

}  // namespace lastcall::cli
