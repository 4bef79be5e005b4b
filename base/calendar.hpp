// The calendar's clock, for people who look at what was written: nothing is decided by it.
//
// Thread rule: any thread. Source: RFC 3339, in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lastcall {

/// The digits of a second's fraction.
enum class Fraction : std::uint8_t { none = 0, milliseconds = 3, microseconds = 6 };

/// "2025-01-31T12:00:00Z", "2025-01-31T12:00:00.250Z"; what is finer is left out.
std::string utc_text(std::chrono::system_clock::time_point at, Fraction fraction);

std::string utc_now(Fraction fraction);

}  // namespace lastcall
