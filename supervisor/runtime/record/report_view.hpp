// Formats a drain report for people: converts its JSON to rows of text. Pure, no thread rule.
//
// Parts without a problem are left out or share a row; each part with a problem has its own row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::runtime {

/// `columns`: the terminal's width; 0 if unknown. Text that is not a report is returned as it is.
std::string report_text(std::string_view report_json, std::size_t columns);

}  // namespace lastcall::runtime
