// The one thing that header-only parts of the C++ library still ask its compiled part for: what
// happens when an index is out of range. Here that is a bug of ours, and ends the process.
//
// Defined only in the program, which links no C++ library; tests link the real one.
#include <stdlib.h>

namespace std {

// NOLINTNEXTLINE(readability-identifier-naming): the library gave the name
[[noreturn]] void __throw_out_of_range_fmt(char const*, ...);
void __throw_out_of_range_fmt(char const*, ...) {
  abort();
}

}  // namespace std
