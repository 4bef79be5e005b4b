#include "supervisor/runtime/loop/own_signals.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>

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

OwnSignals::OwnSignals(boost::asio::io_context& io, OnSignal on_signal)
    : on_signal_(std::move(on_signal)), set_(std::make_unique<Set>(io)) {
  sigset_t const handled = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  for (int const signal : kHandled) {
    set_->signals.add(signal);
  }
  wait();
}

void OwnSignals::release() {
  sigset_t const handled = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
}

bool OwnSignals::is_stop_waiting() {
  sigset_t waiting;
  sigemptyset(&waiting);
  ::sigpending(&waiting);
  return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1 ||
         sigismember(&waiting, SIGQUIT) == 1;
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
