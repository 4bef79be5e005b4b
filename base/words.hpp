// Takes texts apart at separators, and puts them together again.
//
// Pure, no thread rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall {

/// Removes the part up to `separator` from `rest`, with the separator, and returns the part.
constexpr std::string_view take_part(std::string_view& rest, char separator) {
  std::size_t const end = std::min(rest.find(separator), rest.size());
  std::string_view const part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// The parts between any of the separators, without the empty ones.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  std::size_t begin = text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    std::size_t const end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return parts;
}

/// One text of all parts; `text_of` makes a part a text.
template <typename Parts, typename TextOf = std::identity>
std::string joined(Parts const& parts, std::string_view between, TextOf text_of = {}) {
  std::string whole;
  for (auto const& part : parts) {
    whole += whole.empty() ? std::string_view() : between;
    whole += std::invoke(text_of, part);
  }
  return whole;
}

}  // namespace lastcall
