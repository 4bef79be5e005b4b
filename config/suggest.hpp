// 'Did you mean': the known word nearest to a misspelt one.
//
// Distance is Damerau's (a swap of neighbours is one step); a word farther than a third of its
// length is no suggestion. Pure values, no thread rule.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lastcall::config {

std::optional<std::string_view> nearest(std::string_view word,
                                        std::vector<std::string_view> const& known);

}  // namespace lastcall::config
