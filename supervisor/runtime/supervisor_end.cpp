// The end of the supervisor: pending output is written, and the probe listener closes last.
#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/loop/poll_until.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kSoon{1};

}  // namespace

void Supervisor::end(int code) {
  exit_code_ = code;
  loop_.halt();
  engine_.end();
  cleanup_.cancel();
  peers_.orphan().end_if_adopted();
  // This happens later, because a `hello` that ends the supervisor must still be answered with the
  // `welcome` and the `exit`.
  boost::asio::post(io_, [this] {
    peers_.operators().end();
    poll_until(
        io_, monotonic_now() + kFlushWait, kSoon, [this] { return !report_.is_open(); },
        [this] {
          peers_.server().close_all();
          ingress_.end();
          wait_for_flush(monotonic_now() + kFlushWait);
        });
  });
}

void Supervisor::wait_for_flush(lifecycle::Instant limit) {
  // An adopted engine gets all the time that it needs; `limit` is for output that is still to be
  // sent.
  poll_until(
      io_, lifecycle::Instant::max(), kSoon,
      [this, limit] {
        bool const is_flushed = peers_.server().is_flushed() && ingress_.is_flushed();
        return peers_.orphan().is_settled() && (is_flushed || monotonic_now() >= limit);
      },
      [this] {
        hook_calls_.stop();
        probes_.stop();
        io_.stop();
      });
}

}  // namespace lastcall::runtime
