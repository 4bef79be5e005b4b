#include "base/calendar.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>

namespace lastcall {

std::string utc_text(std::chrono::system_clock::time_point at, Fraction fraction) {
  auto const second = std::chrono::floor<std::chrono::seconds>(at);
  std::time_t const since_epoch = std::chrono::system_clock::to_time_t(second);
  std::tm parts{};
  ::gmtime_r(&since_epoch, &parts);
  std::array<char, 64> text{};
  std::size_t const end = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string result(text.data(), end);
  if (fraction != Fraction::none) {
    auto const micros = std::chrono::floor<std::chrono::microseconds>(at - second);
    std::snprintf(text.data(), text.size(), ".%06lld", static_cast<long long>(micros.count()));
    result.append(text.data(), 1 + static_cast<std::size_t>(fraction));
  }
  return result += 'Z';
}

std::string utc_now(Fraction fraction) {
  return utc_text(std::chrono::system_clock::now(), fraction);
}

}  // namespace lastcall
