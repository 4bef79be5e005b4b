// The system's text for an error number.
//
// Rule: the text is not translated, and unlike strerror(3) this is safe in threads.
// Header-only: the shim uses it, too. No thread rule. Source: strerrordesc_np(3).
#pragma once

#include <string>
#include <string_view>

#include <string.h>

namespace lastcall {

/// Empty if the system knows no such error.
inline std::string_view known_error_text(int number) {
  char const* const text = ::strerrordesc_np(number);
  return text != nullptr ? std::string_view(text) : std::string_view();
}

/// 'No such file or directory', 'error 4711'.
inline std::string error_text(int number) {
  std::string_view const text = known_error_text(number);
  return text.empty() ? "error " + std::to_string(number) : std::string(text);
}

}  // namespace lastcall
