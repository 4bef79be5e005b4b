#include "shim/link.hpp"

#include <algorithm>
#include <cstring>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace lastcall::shim {
namespace {

constexpr Duration kEagerFor{1'000};
constexpr Duration kEagerRetry{50};
constexpr Duration kPatientRetry{500};
constexpr Duration kBusyRetry{100};
/// A storm of stop signals is not worth a connection: repeats are reported while there is room.
constexpr std::size_t kRoomForRepeats = 8 * 1024;

bool is_for_now(int error) {
  return error == EAGAIN || error == EINTR;
}

/// Of a connection whose other side is gone.
bool is_end(int error) {
  return error == EPIPE || error == ECONNRESET;
}

/// What is usual while a supervisor starts, or is busy.
bool is_nobody_there(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == EAGAIN;
}

/// The descriptor, or minus the errno.
int open_connection(char const* path) {
  int const fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -errno;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (connect(fd, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
    int const error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

}  // namespace

bool Link::connect_if_due(Instant now) {
  if (!wanted() || connected() || now < next_attempt_) {
    return false;
  }
  if (!looking_since_) {
    looking_since_ = now;
  }
  int const opened = open_connection(path_);
  trouble_ = opened < 0 ? -opened : 0;
  if (opened >= 0) {
    fd_ = opened;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd_;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) == 0) {
      return true;
    }
    trouble_ = errno;
    close(fd_);
    fd_ = -1;
  }
  next_attempt_ = now + (now - *looking_since_ < kEagerFor ? kEagerRetry : kPatientRetry);
  return false;
}

int Link::take_trouble(Instant now) {
  bool const is_early = looking_since_ && now - *looking_since_ < kEagerFor;
  if (trouble_ == 0 || trouble_ == told_trouble_ || (is_early && is_nobody_there(trouble_))) {
    return 0;
  }
  told_trouble_ = trouble_;
  return trouble_;
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
  welcomed_ = ever_welcomed_ = true;
  told_trouble_ = 0;
  looking_since_.reset();
}

void Link::acknowledged(std::int64_t seq) {
  if (seq == watched_seq_) {
    watched_seq_ = 0;
  }
}

void Link::lose(Instant now) {
  if (!connected()) {
    return;
  }
  close(fd_);  // leaves the epoll set by itself
  fd_ = -1;
  pass(-1);
  if (!looking_since_) {
    looking_since_ = now;
  }
  Duration const pause = busy_                               ? kBusyRetry
                         : now - *looking_since_ < kEagerFor ? kEagerRetry
                                                             : kPatientRetry;
  next_attempt_ = now + pause;
  welcomed_ = busy_ = watching_output_ = false;
  watched_seq_ = 0;  // the next hello tells of the stop
  sent_ = 0;
  out_.clear();
  in_.clear();
}

void Link::look_eagerly(Instant now) {
  if (!connected()) {
    looking_since_ = now;
    next_attempt_ = std::min(next_attempt_, now + kEagerRetry);
  }
}

void Link::send(Instant now) {
  if (!connected()) {
    out_.clear();
    return;
  }
  if (out_.overflowed()) {
    return lose(now);
  }
  std::string_view const pending = out_.view().substr(sent_);
  if (!pending.empty()) {
    ssize_t const count = send_pending(pending);
    if (count < 0 && !is_for_now(errno) && !is_end(errno)) {
      return lose(now);  // no end comes by itself, and the lines would be missing for ever
    }
    if (count < 0 && is_end(errno)) {
      // What the other side said last (an order to exit, then its own exit) is still to be read:
      // the end of the connection is noticed there.
      out_.clear();
      sent_ = 0;
      return watch_output(false);
    }
    sent_ += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  if (sent_ == out_.view().size()) {
    out_.clear();
    sent_ = 0;
  }
  watch_output(!out_.view().empty());
}

void Link::pass(int descriptor) {
  if (passed_ >= 0) {
    close(passed_);
  }
  passed_ = descriptor;
}

ssize_t Link::send_pending(std::string_view pending) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (passed_ < 0) {
    return ::send(fd_, pending.data(), pending.size(), kFlags);
  }
  iovec part{const_cast<char*>(pending.data()), pending.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &passed_, sizeof(int));
  ssize_t const count = sendmsg(fd_, &message, kFlags);
  if (count < 0 && (is_for_now(errno) || is_end(errno))) {
    return count;
  }
  pass(-1);
  // What the system does not pass on is no reason for a connection without end.
  return count > 0 ? count : ::send(fd_, pending.data(), pending.size(), kFlags);
}

void Link::send_signal(Instant now, int signal) {
  if (!connected() || out_.view().size() > kRoomForRepeats) {
    return;
  }
  ++last_seq_;
  if (watched_seq_ == 0) {
    watched_seq_ = last_seq_;
    silent_at_ = now + kAckTimeout;
  }
  write_signal(out_, last_seq_, signal, now);
}

void Link::send_ping() {
  if (connected()) {
    write_ping(out_, ++last_seq_);
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
  if (!ever_welcomed_) {
    return Standing::never;
  }
  return welcomed_ && !silent(now) ? Standing::present : Standing::gone;
}

std::optional<Instant> Link::next_wake(Instant now) const {
  if (!wanted()) {
    return std::nullopt;
  }
  if (!connected()) {
    return next_attempt_;
  }
  if (watched_seq_ != 0 && now < silent_at_) {
    return silent_at_;
  }
  return std::nullopt;
}

}  // namespace lastcall::shim
