#include "supervisor/runtime/sessions/gone_peers.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::runtime {

struct GonePeers::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

GonePeers::GonePeers(boost::asio::io_context& io, Notify notify)
    : notify_(std::move(notify)), timer_(std::make_unique<Timer>(io)) {}

GonePeers::~GonePeers() = default;

void GonePeers::hold(ipc::PeerId peer, lifecycle::Duration longest) {
  held_.push_back(peer);
  auto const limit = std::chrono::steady_clock::now() + longest;
  if (held_.size() > 1 && timer_->timer.expiry() <= limit) {
    return;  // the timer runs
  }
  timer_->timer.expires_at(limit);
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      release();
    }
  });
}

void GonePeers::release() {
  timer_->timer.cancel();
  for (ipc::PeerId const peer : std::exchange(held_, {})) {
    notify_(peer);
  }
}

}  // namespace lastcall::runtime
