// Included before anything else where a release is compiled: a precondition of the standard library
// or of nlohmann-json that does not hold still ends the program with its file, line and function,
// but without the function's whole signature. The signatures of the templates that are used are a
// thirtieth of the program.
//
// Source: libstdc++ 12, bits/c++config.h, which defines the macro; another version that does not
// use it keeps its own text. JSON_ASSERT is nlohmann-json's documented way.
#pragma once

#include <bits/c++config.h>

#ifdef __glibcxx_assert_impl
#undef __glibcxx_assert_impl
#define __glibcxx_assert_impl(condition)                                      \
  if (__builtin_expect(!bool(condition), false)) {                            \
    __glibcxx_constexpr_assert(false);                                        \
    std::__glibcxx_assert_fail(__FILE__, __LINE__, __FUNCTION__, #condition); \
  }
#define JSON_ASSERT(condition) __glibcxx_assert(condition)
#endif
