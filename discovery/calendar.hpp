// The calendar's clock, for people who look at what was written: nothing is decided by it.
//
// Thread rule: any thread. Source: RFC 3339, in UTC.
#pragma once

#include <array>
#include <ctime>
#include <string>

namespace lastcall::discovery {

/// "2025-01-31T12:00:00Z".
inline std::string now_as_text() {
  std::time_t const now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace lastcall::discovery
