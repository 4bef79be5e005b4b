#include "supervisor/runtime/gone_peers.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::runtime {

struct GonePeers::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

GonePeers::GonePeers(boost::asio::io_context& io, Tell tell)
    : tell_(std::move(tell)), timer_(std::make_unique<Timer>(io)) {}

GonePeers::~GonePeers() = default;

void GonePeers::hold(ipc::PeerId peer) {
  held_.push_back(peer);
  if (held_.size() > 1) {
    return;  // the timer runs
  }
  timer_->timer.expires_after(kHold);
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      release();
    }
  });
}

void GonePeers::release() {
  timer_->timer.cancel();
  for (ipc::PeerId const peer : std::exchange(held_, {})) {
    tell_(peer);
  }
}

}  // namespace lastcall::runtime
