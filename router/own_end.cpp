#include "router/own_end.hpp"

#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "router/routed_request.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 20ms;
constexpr auto kLastWords = 2s;

}  // namespace

struct OwnEnd::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

OwnEnd::OwnEnd(boost::asio::io_context& io, Parts& parts, ingress::Clients& clients,
               ingress::Listener& listener, std::function<void()> over)
    : parts_(parts),
      clients_(clients),
      listener_(listener),
      over_(std::move(over)),
      timer_(std::make_unique<Timer>(io)) {}

OwnEnd::~OwnEnd() = default;

bool OwnEnd::begin() {
  if (state_ != State::none) {
    return false;
  }
  Shutdown const& settings = parts_.settings.shutdown;
  state_ = State::accepting;
  accepts_until_ = Clock::now() + settings.late_accept;
  ends_at_ = Clock::now() + settings.grace_period;
  parts_.departure.close_over(settings.late_accept);
  look();
  return true;
}

void OwnEnd::look() {
  Clock::time_point const now = Clock::now();
  if (state_ == State::accepting && now >= accepts_until_) {
    state_ = State::finishing;
    listener_.take_no_newcomers();
    listener_.close();
    clients_.part();
  }
  if (state_ == State::finishing && now >= ends_at_) {
    cut();
    clients_.part_now();
    state_ = State::last_words;
    ends_at_ = now + kLastWords;
  }
  bool const is_empty = state_ == State::last_words ? parts_.live.empty() && clients_.is_flushed()
                                                    : clients_.size() == 0;
  if (state_ > State::accepting && (is_empty || now >= ends_at_)) {
    over_();
    return;
  }
  timer_->timer.expires_after(kLook);
  timer_->timer.async_wait([this](boost::system::error_code const& error) {
    if (!error) {
      look();
    }
  });
}

void OwnEnd::cut() {
  std::vector<RoutedRequest*> begun;
  parts_.live.for_each([&](RoutedRequest& request) {
    if (request.is_begun()) {
      begun.push_back(&request);
    }
  });
  if (begun.empty()) {
    return;
  }
  parts_.log.warning("cutting requests at the end of the grace period",
                     {{"requests", begun.size()}});
  for (RoutedRequest* const request : begun) {
    request->break_off(relay::cut_by(lifecycle::CancelReason::grace_timeout),
                       lifecycle::Outcome::cancelled);
  }
}

}  // namespace lastcall::router
