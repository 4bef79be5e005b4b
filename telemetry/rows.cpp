#include "telemetry/rows.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "base/utf8.hpp"

namespace lastcall::telemetry {
namespace {

/// Breaks a row between words; the rest continues below the row's text.
std::string broken(std::string const& row, std::size_t columns) {
  std::string out = row.substr(0, kLabel);
  std::size_t used = width_of(out);
  std::istringstream words(row.substr(std::min(row.size(), kLabel)));
  for (std::string word; words >> word;) {
    bool const is_first = used <= kLabel;
    std::size_t const width = width_of(word);
    if (!is_first && used + 1 + width > columns) {
      out += '\n' + std::string(kLabel, ' ');
      used = kLabel;
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
  }
  return out + '\n';
}

}  // namespace

void put_row(std::ostream& out, char const* label, std::string const& text) {
  out << std::left << std::setw(kLabel) << label << text << '\n';
}

std::string fitted(std::string const& text, std::size_t columns) {
  if (columns <= 2 * kLabel) {
    return text;
  }
  std::string out;
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);) {
    out += width_of(row) > columns ? broken(row, columns) : row + '\n';
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool in_color = false;
  for (char const c : text) {
    in_color = in_color || c == '\033';
    width += in_color || utf8::is_continuation(c) ? 0 : 1;
    in_color = in_color && c != 'm';
  }
  return width;
}

std::string duration_text(std::int64_t ms) {
  std::ostringstream out;
  if (ms < 60'000) {
    out << std::fixed << std::setprecision(1) << static_cast<double>(ms) / 1000.0 << " s";
  } else if (ms < 3'600'000) {
    out << ms / 60'000 << " min " << std::setw(2) << std::setfill('0') << ms / 1000 % 60 << " s";
  } else {
    out << ms / 3'600'000 << " h " << std::setw(2) << std::setfill('0') << ms / 60'000 % 60
        << " min";
  }
  return out.str();
}

}  // namespace lastcall::telemetry
