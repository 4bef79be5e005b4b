#include "shim/signal_names.hpp"

#include <signal.h>
#include <string.h>

#include "shim/parse.hpp"

namespace lastcall::shim {
namespace {

constexpr int kFirstRealTime = 32;

std::optional<int> in_range(std::optional<std::int64_t> number) {
  if (!number || *number < 1 || *number >= kSignalLimit) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

std::optional<int> real_time_signal(std::string_view text) {
  bool const from_top = text.starts_with("RTMAX");
  if (!from_top && !text.starts_with("RTMIN")) {
    return std::nullopt;
  }
  int const base = from_top ? SIGRTMAX : SIGRTMIN;
  std::string_view const rest = text.substr(5);
  if (rest.empty()) {
    return base;
  }
  if (rest.front() != (from_top ? '-' : '+')) {
    return std::nullopt;
  }
  std::optional<std::int64_t> const offset = parse_unsigned(rest.substr(1));
  if (!offset || *offset > SIGRTMAX - SIGRTMIN) {
    return std::nullopt;
  }
  return base + (from_top ? -1 : 1) * static_cast<int>(*offset);
}

}  // namespace

std::optional<int> signal_from_text(std::string_view text) {
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    return in_range(parse_unsigned(text));
  }
  if (text.starts_with("SIG")) {
    text.remove_prefix(3);
  }
  for (int number = 1; number < kFirstRealTime; ++number) {
    char const* name = sigabbrev_np(number);
    if (name != nullptr && text == name) {
      return number;
    }
  }
  return real_time_signal(text);
}

std::optional<SignalBits> signals_from_list(std::string_view list) {
  SignalBits signals = 0;
  for (bool more = true; more;) {
    std::size_t const comma = list.find(',');
    more = comma != std::string_view::npos;
    std::optional<int> const signal = signal_from_text(list.substr(0, comma));
    if (!signal) {
      return std::nullopt;
    }
    signals |= bit_of(*signal);
    list.remove_prefix(more ? comma + 1 : 0);
  }
  return signals;
}

void append_signal_name(Text& out, int number) {
  if (number >= SIGRTMIN && number <= SIGRTMAX) {
    out << "RTMIN";
    if (number > SIGRTMIN) {
      out << "+" << number - SIGRTMIN;
    }
    return;
  }
  char const* name = number > 0 && number < kFirstRealTime ? sigabbrev_np(number) : nullptr;
  if (name != nullptr) {
    out << name;
  } else {
    out << number;
  }
}

}  // namespace lastcall::shim
