// The difference of two texts, as `diff -u` prints it and `patch` takes it.
//
// The shortest script of lines (Myers, 1986), with three lines around each change. Pure, no thread
// rule.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::inject {

/// Empty where the texts are equal. `name` is that of both sides.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace lastcall::inject
