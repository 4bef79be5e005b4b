#include "supervisor/runtime/sessions/gone_peers.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::runtime {
namespace {

constexpr std::chrono::milliseconds kSlice{5};

}  // namespace

struct GonePeers::Timers {
  explicit Timers(boost::asio::io_context& loop) : io(loop), hold(loop) {}
  boost::asio::io_context& io;
  boost::asio::steady_timer hold;
};

GonePeers::GonePeers(boost::asio::io_context& io, Notify notify)
    : notify_(std::move(notify)), timers_(std::make_shared<Timers>(io)) {}

GonePeers::~GonePeers() = default;

void GonePeers::hold(ipc::PeerId peer, lifecycle::Duration longest) {
  held_.push_back(peer);
  auto const limit = std::chrono::steady_clock::now() + longest;
  if (held_.size() > 1 && timers_->hold.expiry() <= limit) {
    return;  // the timer runs
  }
  timers_->hold.expires_at(limit);
  timers_->hold.async_wait([this](boost::system::error_code error) {
    if (!error) {
      release();
    }
  });
}

void GonePeers::release() {
  timers_->hold.cancel();
  bool const is_under_way = !released_.empty();
  auto const held = std::exchange(held_, {});
  released_.insert(released_.end(), held.begin(), held.end());
  if (!is_under_way) {
    report_a_slice();
  }
}

void GonePeers::report(ipc::PeerId peer) {
  released_.push_back(peer);
  if (released_.size() == 1) {
    report_a_slice();
  }
}

void GonePeers::report_a_slice() {
  auto const until = std::chrono::steady_clock::now() + kSlice;
  while (!released_.empty()) {
    // It stays in the list meanwhile, so that a release() in the call begins no other slice.
    notify_(released_.front());
    released_.pop_front();
    if (!released_.empty() && std::chrono::steady_clock::now() >= until) {
      boost::asio::post(timers_->io, [this, alive = std::weak_ptr(timers_)] {
        if (!alive.expired()) {
          report_a_slice();
        }
      });
      return;
    }
  }
}

}  // namespace lastcall::runtime
