#include "sdk/cpp/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/socket_address.hpp"

namespace lastcall::sdk {
namespace {

Descriptor checked(int fd, char const* what) {
  if (fd < 0) {
    throw std::system_error(errno, std::system_category(), std::string("cannot make ") + what);
  }
  return Descriptor(fd);
}

bool watches(Descriptor const& set, Descriptor const& member) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = member.get();
  return ::epoll_ctl(set.get(), EPOLL_CTL_ADD, member.get(), &event) == 0;
}

void drain(Descriptor const& counter) {
  std::uint64_t count{};
  // If the counter is empty, nothing needs to be read.
  [[maybe_unused]] auto const size = ::read(counter.get(), &count, sizeof(count));
}

}  // namespace

Connection::Connection(std::string path)
    : path_(std::move(path)),
      set_(checked(::epoll_create1(EPOLL_CLOEXEC), "an epoll set")),
      bell_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an eventfd")),
      timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "a timer")) {
  if (path_.empty() || path_.size() > kLongestSocketPath) {
    throw std::invalid_argument("cannot connect to '" + path_ + "': the path has " +
                                std::to_string(path_.size()) + " bytes, a Unix socket's has 1 to " +
                                std::to_string(kLongestSocketPath));
  }
  if (auto const zero = path_.find('\0'); zero != std::string::npos) {
    throw std::invalid_argument("cannot connect to '" + path_.substr(0, zero) +
                                "...': expected a path without a zero byte");
  }
  if (!watches(set_, bell_) || !watches(set_, timer_)) {
    throw std::system_error(errno, std::system_category(), "cannot watch a descriptor");
  }
}

int Connection::open() {
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  SocketAddress const address = unix_address(path_);
  if (!fd || ::connect(fd.get(), address.get(), address.size) != 0) {
    return errno;
  }
  if (!watches(set_, fd)) {  // no memory or room: tried again later
    return errno;
  }
  socket_ = std::move(fd);
  is_watching_output_ = false;
  return 0;
}

void Connection::close() {
  socket_ = Descriptor();  // this removes it from the set
  output_.reset();
}

bool Connection::flush() {
  while (!output_.is_empty()) {
    std::string_view const rest = output_.pending();
    ssize_t const size =
        ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0 && errno != EAGAIN) {
      return false;
    }
    if (size < 0) {
      break;
    }
    output_.written(static_cast<std::size_t>(size));
  }
  output_.trim();
  watch(!output_.is_empty());
  return true;
}

void Connection::watch(bool output) {
  if (output == is_watching_output_) {
    return;
  }
  is_watching_output_ = output;
  epoll_event event{};
  event.events = output ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.fd = socket_.get();
  ::epoll_ctl(set_.get(), EPOLL_CTL_MOD, socket_.get(), &event);
}

void Connection::wake() {
  if (!is_rung_) {
    is_rung_ = true;
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const size = ::write(bell_.get(), &one, sizeof(one));
  }
}

void Connection::wake_at(std::optional<Clock::time_point> due) {
  if (due == armed_) {
    return;
  }
  armed_ = due;
  itimerspec spec{};
  if (due) {
    auto const nanoseconds = std::max<std::int64_t>(
        1, std::chrono::nanoseconds(due->time_since_epoch()).count());  // 0 would disarm
    spec.it_value.tv_sec = nanoseconds / 1'000'000'000;
    spec.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

Connection::Ready Connection::wait(int at_most_ms) {
  std::array<epoll_event, 4> events{};
  int count = ::epoll_wait(set_.get(), events.data(), events.size(), at_most_ms);
  if (count < 0 && errno == EINTR) {
    // The process may have been stopped for a while: there may be input by now.
    count = ::epoll_wait(set_.get(), events.data(), events.size(), 0);
  }
  Ready ready = Ready::nothing;
  for (int i = 0; i < count; ++i) {
    int const fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == bell_.get()) {
      drain(bell_);
    } else if (fd == timer_.get()) {
      drain(timer_);
    } else if ((events[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) {
      ready = Ready::input;
    }
    ready = std::max(ready, Ready::something);
  }
  return ready;
}

void Connection::woke(Clock::time_point now) {
  is_rung_ = true;
  if (armed_ && *armed_ <= now) {
    armed_.reset();
  }
}

std::optional<std::size_t> Connection::receive(std::span<char> room) {
  ssize_t const size = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (size > 0) {
    return static_cast<std::size_t>(size);
  }
  bool const is_alive = size < 0 && (errno == EAGAIN || errno == EINTR);
  return is_alive ? std::optional<std::size_t>(0) : std::nullopt;
}

void Connection::abandon() {
  for (Descriptor* const each : {&set_, &bell_, &timer_, &socket_}) {
    *each = Descriptor();
  }
}

}  // namespace lastcall::sdk
