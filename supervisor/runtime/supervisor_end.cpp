// How the supervisor ends: what waits is written, the probe listener closes last.
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kSoon{1};
constexpr lifecycle::Duration kNowAndThen{100};
constexpr lifecycle::Duration kExitTakes{300};

/// `then` as soon as `is_so`, and at `limit` at the latest; looked at once a `pause`.
void poll(boost::asio::io_context& io, lifecycle::Instant limit, lifecycle::Duration pause,
          std::function<bool()> is_so, std::function<void()> then) {
  if (is_so() || monotonic_now() >= limit) {
    then();
    return;
  }
  auto const timer = std::make_shared<boost::asio::steady_timer>(io, pause);
  timer->async_wait([&io, limit, pause, timer, is_so = std::move(is_so),
                     then = std::move(then)](boost::system::error_code) mutable {
    poll(io, limit, pause, std::move(is_so), std::move(then));
  });
}

}  // namespace

void Supervisor::end(int code) {
  exit_code_ = code;
  loop_.halt();
  health_.run(false);
  gauges_.need(GaugeDriver::Need::none);
  token_.withdraw();
  hooks_.cancel();
  orphan_.end_if_adopted();
  // Not at once: a `hello` that ends us is still to be answered with the `welcome` and the `exit`.
  boost::asio::post(io_, [this] {
    operators_.end();
    poll(
        io_, monotonic_now() + kFlushWait, kSoon,
        [this] { return !report_.is_open() || !shim_.is_connected(); },
        [this] {
          server_.close_all();
          ingress_.end();
          wait_for_flush(monotonic_now() + kFlushWait);
        });
  });
}

/// The report is in the log when its reader comes back with time left, whether we end or go on.
void Supervisor::await_reader_of_log(lifecycle::Instant deadline) {
  lifecycle::Instant const limit = deadline - kExitTakes;
  log_.wait_at_end_until(limit);
  poll(
      io_, limit, kNowAndThen, [this] { return log_.flush(); }, [] {});
}

void Supervisor::wait_for_flush(lifecycle::Instant limit) {
  // An adopted engine is not hurried: `limit` is for what waits to be sent.
  poll(
      io_, lifecycle::Instant::max(), kSoon,
      [this, limit] {
        bool const is_flushed = server_.is_flushed() && ingress_.is_flushed();
        return orphan_.is_settled() && (is_flushed || monotonic_now() >= limit);
      },
      [this] {
        hook_calls_.stop();
        probes_.stop();
        io_.stop();
      });
}

}  // namespace lastcall::runtime
