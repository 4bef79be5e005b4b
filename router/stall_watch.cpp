#include "router/stall_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "ingress/poller.hpp"

namespace lastcall::router {

struct StallWatch::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

StallWatch::StallWatch(boost::asio::io_context& io, std::optional<Time> stall)
    : is_on_(stall.has_value()),
      silences_(stall.value_or(Time{})),
      timer_(std::make_unique<Timer>(io)) {}

StallWatch::~StallWatch() = default;

void StallWatch::enter(SilentStream& stream, std::shared_ptr<Worker> const& worker, Awaits awaits) {
  if (is_on_) {
    silences_.enter(stream, worker, ingress::monotonic_now(), awaits);
    if (!is_aimed_) {
      aim();
    }
  }
}

void StallWatch::stays(SilentStream& stream) {
  silences_.stays(stream, ingress::monotonic_now());
}

void StallWatch::aim() {
  std::optional<Time> const next = silences_.next(ingress::monotonic_now());
  is_aimed_ = next.has_value();
  if (next) {
    timer_->timer.expires_at(std::chrono::steady_clock::time_point(*next));
    timer_->timer.async_wait([this](boost::system::error_code const& error) {
      if (!error) {
        look();
      }
    });
  }
}

void StallWatch::look() {
  for (SilentStream* const stream : silences_.find(ingress::monotonic_now())) {
    if (silences_.has(*stream)) {  // one that was found may have ended others
      stream->is_silent();
    }
  }
  aim();
}

}  // namespace lastcall::router
