// LC_ASSERT: a broken invariant of our own. Stays on in release; never used on outside input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace lastcall::lifecycle {

/// One line, then the end: the shim holds all that a new supervisor needs, so dying is safe and
/// going on with a broken invariant is not.
[[noreturn]] inline void assertion_failed(char const* what, char const* file, int line) {
  std::fprintf(stderr, "lastcall: broken invariant at %s:%d: %s\n", file, line, what);
  std::_Exit(1);
}

}  // namespace lastcall::lifecycle

#define LC_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::lastcall::lifecycle::assertion_failed(#condition, __FILE__, __LINE__))
