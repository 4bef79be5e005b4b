// Signal names and numbers: `TERM`, `SIGTERM`, `15`, `RTMIN+3`.
//
// On the wire and in logs a signal is written without SIG. Source: signal(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shim/text.hpp"

namespace lastcall::shim {

/// One past the highest signal number that the kernel knows.
inline constexpr int kSignalLimit = 65;

/// Returns the signal; absent for an unknown name or a number outside 1..64.
std::optional<int> signal_from_text(std::string_view text);

/// Bit n is signal n; signal 64 has bit 0, which belongs to no other signal.
using SignalBits = std::uint64_t;
constexpr SignalBits bit_of(int signal) {
  return SignalBits{1} << (signal % 64);
}

/// Reads `TERM,INT,RTMIN+3`; absent if a name is unknown or the list is empty.
std::optional<SignalBits> signals_from_list(std::string_view list);

void append_signal_name(Text& out, int number);

}  // namespace lastcall::shim
