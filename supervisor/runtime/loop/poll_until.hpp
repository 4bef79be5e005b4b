// Polls on the loop for conditions that cause no event, such as a buffer elsewhere or a reader that
// is away.
//
// Thread rule: the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "core/instant.hpp"

namespace lastcall::runtime {

/// Calls `then` as soon as `is_so` returns true, and at `limit` at the latest; checks once per
/// `pause`.
inline void poll_until(boost::asio::io_context& io, lifecycle::Instant limit,
                       lifecycle::Duration pause, std::function<bool()> is_so,
                       std::function<void()> then) {
  if (is_so() || monotonic_now() >= limit) {
    then();
    return;
  }
  auto const timer = std::make_shared<boost::asio::steady_timer>(io, pause);
  timer->async_wait([&io, limit, pause, timer, is_so = std::move(is_so),
                     then = std::move(then)](boost::system::error_code) mutable {
    poll_until(io, limit, pause, std::move(is_so), std::move(then));
  });
}

}  // namespace lastcall::runtime
