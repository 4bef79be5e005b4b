#include "ingress/poller.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <sys/epoll.h>

namespace lastcall::ingress {

struct Poller::Loop {
  explicit Loop(boost::asio::io_context& context)
      : io(context), set(context, ::epoll_create1(EPOLL_CLOEXEC)) {}
  boost::asio::io_context& io;
  boost::asio::posix::stream_descriptor set;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // what was posted may outlive us
};

std::chrono::milliseconds monotonic_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

Poller::Poller(boost::asio::io_context& io, OnSlow on_slow)
    : loop_(std::make_unique<Loop>(io)), on_slow_(std::move(on_slow)) {
  wait();
}

Poller::~Poller() {
  *loop_->alive = false;
}

bool Poller::add(int fd, Watched& watched) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watched;
  return ::epoll_ctl(loop_->set.native_handle(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::remove(int fd) {
  ::epoll_ctl(loop_->set.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::bury(std::unique_ptr<Watched> watched) {
  std::erase(again_, watched.get());
  bury_unwatched(std::move(watched));
}

void Poller::bury_unwatched(std::unique_ptr<Buried> buried) {
  buried_.push_back(std::move(buried));
  if (!std::exchange(burial_is_due_, true)) {
    boost::asio::post(loop_->io, [this, alive = loop_->alive] {
      if (*alive) {
        burial_is_due_ = false;
        std::exchange(buried_, {}).clear();
      }
    });
  }
}

void Poller::again(Watched& watched) {
  again_.push_back(&watched);
  if (!std::exchange(again_is_due_, true)) {
    boost::asio::post(loop_->io, [this, alive = loop_->alive] {
      if (*alive) {
        run_again();
      }
    });
  }
}

void Poller::run_again() {
  again_is_due_ = false;
  now_ = std::chrono::steady_clock::now();
  std::vector<Watched*> due = std::exchange(again_, {});
  while (!due.empty()) {
    Watched* const next = due.back();
    due.pop_back();
    bool const is_buried = std::any_of(buried_.begin(), buried_.end(),
                                       [&](auto const& dead) { return dead.get() == next; });
    if (!is_buried) {
      serve(*next, 0);
    }
  }
}

void Poller::wait() {
  loop_->set.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [this, alive = loop_->alive](boost::system::error_code error) {
                          if (!error && *alive) {
                            turn();
                            wait();
                          }
                        });
}

void Poller::turn() {
  std::array<epoll_event, kBatch> events;
  int const count = ::epoll_wait(loop_->set.native_handle(), events.data(), kBatch, 0);
  now_ = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    epoll_event const& event = events[static_cast<std::size_t>(i)];
    serve(*static_cast<Watched*>(event.data.ptr), event.events);
  }
}

/// One look at the clock each. Whom it serves lives until the end of the turn.
void Poller::serve(Watched& watched, std::uint32_t events) {
  watched.ready(events);
  std::chrono::steady_clock::time_point const began = now_;
  now_ = std::chrono::steady_clock::now();
  if (now_ - began > kBearable) {
    on_slow_(watched.kind(), now_ - began);
  }
}

}  // namespace lastcall::ingress
