// How the supervisor ends: what waits is written, the probe listener closes last.
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

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
    server_.close_all();
    ingress_.end();
    wait_for_flush(monotonic_now() + kFlushWait);
  });
}

void Supervisor::wait_for_flush(lifecycle::Instant limit) {
  bool const is_flushed = server_.is_flushed() && ingress_.is_flushed();
  if (orphan_.is_settled() && (is_flushed || monotonic_now() >= limit)) {
    hook_calls_.stop();
    probes_.stop();
    io_.stop();
    return;
  }
  auto const timer = std::make_shared<boost::asio::steady_timer>(io_, lifecycle::Duration{1});
  timer->async_wait([this, timer, limit](boost::system::error_code) { wait_for_flush(limit); });
}

}  // namespace lastcall::runtime
