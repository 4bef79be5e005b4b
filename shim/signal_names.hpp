// Signal names and numbers: `TERM`, `SIGTERM`, `15`, `RTMIN+3`.
//
// On the wire and in logs a signal is written without SIG. Source: signal(7).
#pragma once

#include <optional>
#include <string_view>

#include "shim/text.hpp"

namespace lastcall::shim {

/// One past the highest signal number that the kernel knows.
inline constexpr int kSignalLimit = 65;

/// Nothing for an unknown name or a number outside 1..64.
std::optional<int> signal_from_text(std::string_view text);

void append_signal_name(Text& out, int number);

}  // namespace lastcall::shim
