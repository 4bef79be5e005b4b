#include "ingress/deadlines.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::ingress {

struct Deadlines::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

void Deadline::disarm() {
  if (previous_ != nullptr) {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }
}

Deadlines::Deadlines(boost::asio::io_context& io, Poller const& poller, Lengths lengths)
    : timer_(std::make_unique<Timer>(io)), poller_(poller), lengths_(lengths) {
  for (Deadline& head : heads_) {
    head.previous_ = head.next_ = &head;
  }
}

Deadlines::~Deadlines() {
  for (Deadline& head : heads_) {
    while (head.next_ != &head) {
      head.next_->disarm();
    }
  }
}

void Deadlines::arm(Deadline& deadline, Wait wait) {
  deadline.disarm();
  auto const& length = lengths_[static_cast<std::size_t>(wait)];
  if (!length) {
    return;
  }
  Deadline& head = heads_[static_cast<std::size_t>(wait)];
  deadline.at_ = poller_.now() + *length;
  deadline.previous_ = head.previous_;
  deadline.next_ = &head;
  head.previous_->next_ = &deadline;
  head.previous_ = &deadline;
  if (!aimed_at_ || deadline.at_ < *aimed_at_) {
    aim(deadline.at_);
  }
}

std::optional<Deadlines::Waiting> Deadlines::longest(Wait wait) const {
  auto const place = static_cast<std::size_t>(wait);
  Deadline const& head = heads_[place];
  if (head.next_ == &head) {
    return std::nullopt;
  }
  return Waiting{head.next_->owner_, head.next_->at_ - *lengths_[place]};
}

void Deadlines::aim(std::chrono::milliseconds at) {
  aimed_at_ = at;
  timer_->timer.expires_at(std::chrono::steady_clock::time_point(at));
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      expire();
    }
  });
}

void Deadlines::expire() {
  aimed_at_.reset();
  std::chrono::milliseconds const now = monotonic_time();
  for (std::size_t i = 0; i < kWaits; ++i) {
    Deadline& head = heads_[i];
    while (head.next_ != &head && head.next_->at_ <= now) {
      Deadline& due = *head.next_;
      due.disarm();
      due.owner_->expired(static_cast<Wait>(i));
    }
  }
  std::optional<std::chrono::milliseconds> nearest;
  for (Deadline const& head : heads_) {
    if (head.next_ != &head && (!nearest || head.next_->at_ < *nearest)) {
      nearest = head.next_->at_;
    }
  }
  if (nearest && (!aimed_at_ || *nearest < *aimed_at_)) {
    aim(*nearest);
  }
}

}  // namespace lastcall::ingress
