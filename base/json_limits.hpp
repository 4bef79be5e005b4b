// What a text of JSON that somebody else sent may be, before it is made into objects.
//
// Why: an object that keeps its order looks through all of its members for each new one, and deep
// ones are copied, compared and printed by recursion. So a text of some kilobytes could cost
// minutes, or the stack.
//
// Rules:
//  1. One pass, and each byte is looked at once.
//  2. What is no JSON may be found to fit: up to its first error the count is right, and no parser
//     reads further.
//
// Pure, no thread rule. Source: RFC 8259, 9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::json {

struct Limits {
  std::size_t depth = 64;
  std::size_t members = 1024;     // of one object
  std::size_t values = SIZE_MAX;  // in all
};

bool fits(std::string_view text, Limits const& limits);

}  // namespace lastcall::json
