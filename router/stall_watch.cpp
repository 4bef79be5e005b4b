#include "router/stall_watch.hpp"

#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::router {

struct StallWatch::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

StallWatch::StallWatch(boost::asio::io_context& io, std::optional<Time> stall)
    : stall_(stall), silences_(stall.value_or(Time{})), timer_(std::make_unique<Timer>(io)) {}

StallWatch::~StallWatch() = default;

void StallWatch::enter(SilentStream& stream, std::shared_ptr<Worker> const& worker) {
  if (stall_) {
    Time const now = monotonic_time();
    silences_.enter(stream, worker, now);
    if (!aimed_at_) {
      aim(now);
    }
  }
}

void StallWatch::stays(SilentStream& stream) {
  silences_.stays(stream, monotonic_time());
}

void StallWatch::aim(Time soonest) {
  std::optional<Time> const next = silences_.next(monotonic_time());
  aimed_at_ = next ? std::optional(std::max(*next, soonest)) : std::nullopt;
  if (aimed_at_) {
    timer_->timer.expires_at(std::chrono::steady_clock::time_point(*aimed_at_));
    timer_->timer.async_wait([this](boost::system::error_code const& error) {
      if (!error) {
        look();
      }
    });
  }
}

void StallWatch::look() {
  Time const now = monotonic_time();
  Time const late = std::max<Time>(*stall_ / Silences::kLeft, Time(1));
  if (now - *aimed_at_ > late) {
    aim(now + late);
    return;
  }
  for (SilentStream* const stream : silences_.find(now)) {
    if (Silences::has(*stream)) {  // a stream that was found before may have ended others
      stream->is_silent();
    }
  }
  aim(now);
}

}  // namespace lastcall::router
