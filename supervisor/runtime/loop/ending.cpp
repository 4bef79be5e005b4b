#include "supervisor/runtime/loop/ending.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/loop/poll_until.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kSoon{1};

}  // namespace

Ending::Ending(boost::asio::io_context& io, Steps steps) : io_(io), steps_(std::move(steps)) {}

void Ending::begin(int code) {
  exit_code_ = code;
  boost::asio::post(io_, [this] {
    steps_.say_goodbye();
    poll_until(io_, monotonic_now() + kFlushWait, kSoon, steps_.report_is_final, [this] {
      steps_.close();
      await_output(monotonic_now() + kFlushWait);
    });
  });
}

void Ending::await_output(lifecycle::Instant limit) {
  poll_until(
      io_, lifecycle::Instant::max(), kSoon,
      [this, limit] {
        is_flushed_ = is_flushed_ || steps_.is_flushed();
        return steps_.is_alone() && (is_flushed_ || monotonic_now() >= limit);
      },
      steps_.stop);
}

}  // namespace lastcall::runtime
