// The only function that header-only parts of the C++ library still need from its compiled part:
// the handler of an index that is out of range. Here that is a bug of the shim's, and ends the
// process.
//
// It is defined only in the program, which links no C++ library; tests link the real one.
#include <stdlib.h>

namespace std {

// NOLINTNEXTLINE(readability-identifier-naming): the library gave the name
[[noreturn]] void __throw_out_of_range_fmt(char const*, ...);
void __throw_out_of_range_fmt(char const*, ...) {
  abort();
}

}  // namespace std
