// 'Did you mean': the known word nearest to a misspelt one.
//
// The distance is Damerau's (a swap of neighbours is one step); a word that is farther away than a
// third of its length is not suggested. Pure values, no thread rule.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lastcall::config {

std::optional<std::string_view> nearest(std::string_view word,
                                        std::vector<std::string_view> const& known);

}  // namespace lastcall::config
