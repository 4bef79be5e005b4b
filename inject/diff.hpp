// The difference of two texts, as `diff -u` prints it and `patch` reads it.
//
// It is the shortest edit script of lines (Myers, 1986), with three lines around each change. Pure,
// no thread rule.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::inject {

/// Empty if the texts are equal. Both sides have the name `name`.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace lastcall::inject
