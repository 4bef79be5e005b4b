// LC_ASSERT: ends the process on a broken invariant. It stays on in release builds and is never
// used on outside input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace lastcall::lifecycle {

/// Prints one line and aborts. The shim holds all that a new supervisor needs, so ending is safe,
/// while going on with a broken invariant is not.
[[noreturn]] inline void assertion_failed(char const* what, char const* file, int line) {
  std::fprintf(stderr, "lastcall: broken invariant at %s:%d: %s\n", file, line, what);
  std::_Exit(1);
}

}  // namespace lastcall::lifecycle

#define LC_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::lastcall::lifecycle::assertion_failed(#condition, __FILE__, __LINE__))
