// A drain report as a person reads it: JSON in, rows of text out. Pure, no thread rule.
//
// Parts that went as they should are left out or in one row; each one that did not has its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::runtime {

/// `columns`: of the terminal; 0: unknown. Text that is not a report is returned as it is.
std::string report_text(std::string_view report_json, std::size_t columns);

}  // namespace lastcall::runtime
