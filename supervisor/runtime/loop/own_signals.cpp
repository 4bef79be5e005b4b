#include "supervisor/runtime/loop/own_signals.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>

namespace lastcall::runtime {
namespace {

constexpr int kHandled[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

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
  sigset_t handled;
  sigemptyset(&handled);
  for (int const signal : kHandled) {
    set_->signals.add(signal);
    sigaddset(&handled, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
  wait();
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
