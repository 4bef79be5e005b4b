// The wall clock as text, for people who read logs and files. No decision depends on it.
//
// Thread rule: any thread. Source: RFC 3339, in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lastcall {

/// How many digits of a second's fraction are written.
enum class Fraction : std::uint8_t { none = 0, milliseconds = 3, microseconds = 6 };

/// "2025-01-31T12:00:00Z", "2025-01-31T12:00:00.250Z"; finer digits are cut off.
std::string utc_text(std::chrono::system_clock::time_point at, Fraction fraction);

std::string utc_now(Fraction fraction);

}  // namespace lastcall
