// Text for people in rows, each a label and what belongs to it. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace lastcall::runtime {

/// Columns of a row before its text.
inline constexpr std::size_t kLabel = 12;

void put_row(std::ostream& out, char const* label, std::string const& text);
/// Rows that are wider than a terminal are broken between words, and the rest stands below their
/// text. 0 columns, and fewer than two labels take, break none.
std::string fitted(std::string const& text, std::size_t columns);
/// The columns that a terminal shows: colours take none, a character of UTF-8 takes one.
std::size_t width_of(std::string_view text);
/// "1.4 s", "2 min 05 s".
std::string duration_text(std::int64_t ms);

}  // namespace lastcall::runtime
