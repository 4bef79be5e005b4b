// A drain report as a person reads it: JSON in, rows of text out. Pure, no thread rule.
//
// What went as it should is left out or in one row; each thing that did not has its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::runtime {

/// `columns`: of the terminal; 0: nobody knows. Text that is no report is given back as it is.
std::string report_text(std::string_view report_json, std::size_t columns);

}  // namespace lastcall::runtime
