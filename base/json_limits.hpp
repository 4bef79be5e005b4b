// Limits on JSON text from outside, checked before the text is made into objects.
//
// Why: an object that keeps its order searches all of its members for each new one, and nested
// objects are copied, compared and printed by recursion. Without limits, a text of a few kilobytes
// could cost minutes or overflow the stack.
//
// Rules:
//  1. The check is one pass that looks at each byte once.
//  2. Text that is not JSON may pass: the counts are right up to its first error, and no parser
//     reads further than that.
//
// Pure, no thread rule. Source: RFC 8259, 9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::json {

struct Limits {
  std::size_t depth = 64;
  std::size_t members = 1024;     // in one object
  std::size_t values = SIZE_MAX;  // in the whole text
};

bool fits(std::string_view text, Limits const& limits);

}  // namespace lastcall::json
