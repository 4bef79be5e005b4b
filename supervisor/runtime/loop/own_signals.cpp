#include "supervisor/runtime/loop/own_signals.hpp"

#include <csignal>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace lastcall::runtime {
namespace {

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
  std::signal(SIGPIPE, SIG_IGN);
  for (int const signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    set_->signals.add(signal);
  }
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
