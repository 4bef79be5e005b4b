// Formats text for people in rows that have a label and a text. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace lastcall::telemetry {

/// The columns of a row before its text.
inline constexpr std::size_t kLabel = 12;

void put_row(std::ostream& out, char const* label, std::string const& text);
/// Breaks rows that are wider than a terminal between words; the rest continues below their text.
/// Nothing is broken if `columns` is 0 or less than the width of two labels.
std::string fitted(std::string const& text, std::size_t columns);
/// The columns that the text takes on a terminal: colours take none, a UTF-8 character takes one.
std::size_t width_of(std::string_view text);
/// "1.4 s", "2 min 05 s".
std::string duration_text(std::int64_t ms);

}  // namespace lastcall::telemetry
