#include "supervisor/runtime/loop/own_signals.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>
#include <unistd.h>

namespace lastcall::runtime {
namespace {

constexpr int kHandled[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

sigset_t handled_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (int const signal : kHandled) {
    sigaddset(&handled, signal);
  }
  return handled;
}

char const* name_of(int signal) {
  switch (signal) {
    case SIGTERM:
      return "TERM";
    case SIGINT:
      return "INT";
    case SIGQUIT:
      return "QUIT";
    default:
      return "HUP";
  }
}

}  // namespace

struct OwnSignals::Set {
  explicit Set(boost::asio::io_context& io) : signals(io) {}
  boost::asio::signal_set signals;
};

OwnSignals::OwnSignals(boost::asio::io_context& io, pid_t shim, OnSignal on_signal)
    : shim_(shim), on_signal_(std::move(on_signal)), set_(std::make_unique<Set>(io)) {
  sigemptyset(&taken_);
  sigset_t const handled = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  for (int const signal : kHandled) {
    set_->signals.add(signal);
  }
  wait();
}

void OwnSignals::release() {
  for (int const signal : kHandled) {
    if (sigismember(&taken_, signal) == 1) {
      ::raise(signal);
    }
  }
  sigset_t const handled = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
}

bool OwnSignals::is_stop_waiting() {
  sigset_t stops = handled_signals();
  sigdelset(&stops, SIGHUP);
  timespec const at_once{};
  siginfo_t from{};
  for (int signal = 0; (signal = ::sigtimedwait(&stops, &from, &at_once)) > 0;) {
    sigaddset(&taken_, signal);
    is_stop_waiting_ = is_stop_waiting_ || shim_ == 0 || from.si_pid == shim_;
  }
  return is_stop_waiting_ || (shim_ != 0 && ::getppid() != shim_);
}

OwnSignals::~OwnSignals() = default;

void OwnSignals::wait() {
  set_->signals.async_wait([this](boost::system::error_code error, int signal) {
    if (!error) {
      on_signal_(name_of(signal));
      wait();
    }
  });
}

}  // namespace lastcall::runtime
