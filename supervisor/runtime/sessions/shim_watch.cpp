#include "supervisor/runtime/sessions/shim_watch.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

constexpr std::chrono::seconds kRound{1};

}  // namespace

struct ShimWatch::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

ShimWatch::ShimWatch(boost::asio::io_context& io, bool is_expected, std::string const& socket,
                     telemetry::Log& log, Callbacks callbacks)
    : log_(log),
      callbacks_(std::move(callbacks)),
      timer_(std::make_unique<Timer>(io)),
      text_("no shim is connected to " + socket +
            ": nothing holds back the engine's stop signal, and a stop cuts running requests"),
      is_expected_(is_expected) {}

ShimWatch::~ShimWatch() = default;

void ShimWatch::start() {
  arm();
}

void ShimWatch::update(lifecycle::Snapshot const& snapshot) {
  has_connected_ = has_connected_ || snapshot.shim_connected;
  bool const serves = snapshot.phase == lifecycle::Phase::serving && !snapshot.own_restart;
  judge(is_expected_ && serves && !snapshot.shim_connected, monotonic_now());
}

void ShimWatch::judge(bool is_absent, lifecycle::Instant now) {
  if (!is_absent) {
    absent_since_.reset();
    if (std::exchange(is_missing_, false)) {
      log_.info(
          "the shim is no longer missing: one is connected, or this instance no longer serves");
      callbacks_.changed(false);
    }
    return;
  }
  absent_since_ = absent_since_.value_or(now);
  if (!is_missing_ && now - *absent_since_ >= kGraceForShim) {
    is_missing_ = true;
    log_.warning(text_);
    callbacks_.changed(true);
  }
  arm();
}

/// While a shim is connected, no check is needed.
void ShimWatch::arm() {
  bool const looks = is_expected_ && (!has_connected_ || (absent_since_ && !is_missing_));
  if (!looks || std::exchange(is_armed_, true)) {
    return;
  }
  timer_->timer.expires_after(kRound);
  timer_->timer.async_wait([this](boost::system::error_code error) {
    is_armed_ = false;
    if (!error) {
      tick();
    }
  });
}

void ShimWatch::tick() {
  if (!has_connected_) {
    callbacks_.follow_socket();
  }
  if (absent_since_) {
    judge(true, monotonic_now());
  }
  arm();
}

}  // namespace lastcall::runtime
