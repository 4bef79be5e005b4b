#include "shim/link.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket_address.hpp"

namespace lastcall::shim {
namespace {

/// Many stop signals in a row are no reason to lose the connection: repeats are reported only while
/// there is room.
constexpr std::size_t kRoomForRepeats = 8 * 1024;

/// Returns the descriptor, or minus the errno.
int open_connection(char const* path) {
  int const fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -errno;
  }
  SocketAddress const address = unix_address(path);
  if (connect(fd, address.get(), address.size) != 0) {
    int const error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

}  // namespace

bool Link::connect_if_due(Instant now) {
  if (path_ == nullptr || connected() || !attempts_.is_due(now)) {
    return false;
  }
  attempts_.begin(now);
  int const opened = open_connection(path_);
  if (opened < 0) {
    attempts_.failed(now, -opened);
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = opened;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, opened, &event) != 0) {
    attempts_.failed(now, errno);
    close(opened);
    return false;
  }
  fd_ = opened;
  attempts_.succeeded();
  return true;
}

bool Link::receive(Instant now) {
  in_.compact();
  if (!connected() || in_.is_full()) {
    return false;
  }
  ssize_t const count = recv(fd_, in_.space(), in_.space_size(), MSG_DONTWAIT);
  if (count > 0) {
    in_.added(static_cast<std::size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    lose(now);
  }
  return count > 0;
}

std::optional<std::string_view> Link::next_line() {
  std::optional<std::string_view> const line = in_.next_line();
  if (!line) {
    in_.compact();
  }
  return line;
}

void Link::welcomed() {
  welcome_ = Welcome::present;
  attempts_.welcomed();
}

void Link::lose(Instant now) {
  if (!connected()) {
    return;
  }
  close(fd_);  // a closed descriptor leaves the epoll set by itself
  fd_ = -1;
  attempts_.lost(now);
  welcome_ = welcome_ == Welcome::never ? Welcome::never : Welcome::past;
  watching_output_ = false;
  acks_.forget();
  outgoing_.pass(-1);
  outgoing_.clear();
  in_.clear();
}

void Link::look_eagerly(Instant now) {
  if (!connected()) {
    attempts_.look_eagerly(now);
  }
}

void Link::send(Instant now) {
  if (!connected()) {
    return outgoing_.clear();
  }
  switch (outgoing_.send(fd_)) {
    case Outgoing::Sent::as_far_as_it_goes:
      return watch_output(!outgoing_.is_empty());
    case Outgoing::Sent::other_side_is_gone:
      // Its last lines (an order to exit, then its own exit) have to be read still, and reading
      // notices the end of the connection.
      return watch_output(false);
    case Outgoing::Sent::broken:
      return lose(now);
  }
}

void Link::send_signal(Instant now, int signal) {
  if (!connected() || outgoing_.waiting() > kRoomForRepeats) {
    return;
  }
  std::int64_t const seq = acks_.next_seq();
  acks_.await(now, seq);
  write_signal(out(), seq, signal, now);
}

void Link::send_ping() {
  if (connected()) {
    write_ping(out(), acks_.next_seq());
  }
}

void Link::watch_output(bool wanted) {
  if (wanted == watching_output_) {
    return;
  }
  epoll_event event{};
  event.events = EPOLLIN | (wanted ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.fd = fd_;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
  watching_output_ = wanted;
}

Standing Link::standing(Instant now) const {
  switch (welcome_) {
    case Welcome::never:
      return Standing::never;
    case Welcome::past:
      return Standing::gone;
    case Welcome::present:
      break;
  }
  return acks_.is_silent(now) ? Standing::gone : Standing::present;
}

std::optional<Instant> Link::next_wake(Instant now) const {
  if (path_ == nullptr) {
    return std::nullopt;
  }
  return connected() ? acks_.next_wake(now) : attempts_.next();
}

}  // namespace lastcall::shim
