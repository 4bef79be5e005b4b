// The requests in flight as a table: JSON in, text out. Pure functions.
//
// Rules:
//  1. Users' requests are sorted by age, the oldest first; the parts of a request are shown below
//     it, indented.
//  2. If a terminal is too narrow, columns are left out in an order that keeps those that
//     distinguish a request from others; the id is cut last.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "supervisor/cli/json_view.hpp"

namespace lastcall::cli {

/// `columns` is the width of the terminal; 0 means no limit.
std::string requests_text(std::vector<JsonValue> const& requests, std::size_t columns);

}  // namespace lastcall::cli
