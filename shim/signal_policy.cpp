#include "shim/signal_policy.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <signal.h>

namespace lastcall::shim {
namespace {

constexpr SignalBits kNoStops = bit_of(SIGKILL) | bit_of(SIGSTOP) | bit_of(SIGCHLD);
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
constexpr int kTerminalStops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

}  // namespace

SignalPolicy::SignalPolicy() : stop_set_(bit_of(SIGTERM) | bit_of(SIGINT) | bit_of(SIGQUIT)) {
  for (int signal = 1; signal < kSignalLimit; ++signal) {
    rewrite_[signal] = static_cast<std::uint8_t>(signal);
  }
}

bool SignalPolicy::set_stop_signals(std::string_view list) {
  std::optional<SignalBits> const chosen = signals_from_list(list);
  if (!chosen || (*chosen & kNoStops) != 0) {
    return false;
  }
  stop_set_ = *chosen;
  return true;
}

bool SignalPolicy::add_rewrite(std::string_view rule) {
  std::size_t const colon = rule.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  std::string_view const target = rule.substr(colon + 1);
  std::optional<int> const from = signal_from_text(rule.substr(0, colon));
  std::optional<int> const to = target == "0" ? std::optional<int>{0} : signal_from_text(target);
  if (!from || !to) {
    return false;
  }
  rewrite_[*from] = static_cast<std::uint8_t>(*to);
  named_ |= bit_of(*from);
  return true;
}

void SignalPolicy::finish(bool engine_has_own_session) {
  for (int const signal : kTerminalStops) {
    if (engine_has_own_session && (named_ & bit_of(signal)) == 0) {
      rewrite_[signal] = SIGSTOP;
    }
  }
}

int SignalPolicy::for_order(int signal) const {
  bool const fixed = signal == SIGKILL || signal == SIGCONT || signal == SIGSTOP;
  return !fixed && (named_ & bit_of(signal)) != 0 ? rewrite_[signal] : signal;
}

bool SignalPolicy::is_own_fault(int signal, int code) {
  // A fault of the shim's own code ends it, whether the signal is blocked or not. So a fault that
  // is queued and read from the signalfd is another one, such as SIGBUS for a bad memory page
  // (BUS_MCEERR_AO).
  return code > 0 && std::ranges::find(kFaults, signal) != std::end(kFaults);
}

bool SignalPolicy::is_stop(int signal) const {
  int const target = rewrite_[signal];
  if ((named_ & bit_of(signal)) != 0 && target == 0) {
    return false;  // the user's rewrite has dropped it
  }
  return (stop_set_ & bit_of(signal)) != 0 || (target != 0 && (stop_set_ & bit_of(target)) != 0);
}

}  // namespace lastcall::shim
