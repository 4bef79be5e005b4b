#include "router/alarms.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::router {

struct Alarms::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

Alarms::Alarms(boost::asio::io_context& io) : timer_(std::make_unique<Timer>(io)) {}

Alarms::~Alarms() = default;

void Alarms::set(Sleeper& sleeper, Time at) {
  clear(sleeper);
  sleeper.at_ = at;
  order_.emplace(at, &sleeper);
  aim();
}

void Alarms::clear(Sleeper& sleeper) {
  if (sleeper.at_) {
    order_.erase({*sleeper.at_, &sleeper});
    sleeper.at_.reset();
  }
}

/// A timer that fires too early finds no owner that is due, and is set again.
void Alarms::aim() {
  if (order_.empty() || (aimed_at_ && *aimed_at_ <= order_.begin()->first)) {
    return;
  }
  aimed_at_ = order_.begin()->first;
  timer_->timer.expires_at(std::chrono::steady_clock::time_point(*aimed_at_));
  timer_->timer.async_wait([this](boost::system::error_code const& error) {
    if (!error) {
      ring();
    }
  });
}

void Alarms::ring() {
  aimed_at_.reset();
  Time const now = monotonic_time();
  while (!order_.empty() && order_.begin()->first <= now) {
    Sleeper& sleeper = *order_.begin()->second;
    clear(sleeper);
    sleeper.alarm_rings();
  }
  aim();
}

}  // namespace lastcall::router
