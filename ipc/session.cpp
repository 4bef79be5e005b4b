#include "ipc/session.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "base/error_text.hpp"

namespace lastcall::ipc {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

/// How many bytes of one peer are read before other peers have their turn.
constexpr std::size_t kReadAtOnce = 64 * 1024;
/// The most bytes that are read of a dead process; its send buffer limits what it can have left.
constexpr std::size_t kReadOfTheDead = 1024 * 1024;
constexpr std::chrono::milliseconds kLinger{1'000};

}  // namespace

Session::Session(boost::asio::io_context& io, PeerId id, Descriptor socket, PeerProcess process,
                 Limits limits, std::weak_ptr<SessionOwner> owner, std::shared_ptr<Outbox> outbox)
    : io_(io),
      id_(id),
      socket_(io, socket.release()),
      pidfd_(io),
      timer_(io),
      limits_(limits),
      owner_(std::move(owner)),
      outbox_(std::move(outbox)),
      watched_(process.is_watched()) {
  if (process.pidfd) {
    pidfd_.assign(process.pidfd.release());
  }
}

void Session::start() {
  wait_readable();
  if (pidfd_.is_open()) {
    wait_process();
  } else if (watched_) {
    boost::asio::post(io_, [self = shared_from_this()] { self->process_ended(); });
  }
  timer_.expires_after(limits_.hello_timeout);
  timer_.async_wait([self = shared_from_this()](error_code const& error) {
    auto const owner = self->owner_.lock();
    if (!error && owner && !self->has_greeted_ && self->state_ == State::open) {
      owner->sent_no_hello(self->id_);
    }
  });
}

void Session::greeted(bool is_patient) {
  has_greeted_ = true;
  passed_ = Descriptor();  // nobody took it
  is_patient_ = is_patient;
  if (!is_blocked_) {
    timer_.cancel();
  }
}

// ---- reading ---------------------------------------------------------------------------------

void Session::wait_readable() {
  socket_.async_wait(stream_descriptor::wait_read,
                     [self = shared_from_this()](error_code const& error) {
                       if (!error) {
                         self->readable();
                       }
                     });
}

void Session::readable() {
  if (state_ == State::open) {
    Outbox::Turn const turn(*outbox_);
    read_up_to(kReadAtOnce);
  } else {
    discard();
  }
  if (socket_.is_open() && !peer_has_closed_) {
    wait_readable();
  }
}

void Session::receive_rest() {
  read_up_to(kReadOfTheDead, true);
}

void Session::read_up_to(std::size_t most, bool until_nothing_is_left) {
  std::size_t total = 0;
  while (state_ == State::open && total < most) {
    std::span<char> const room = lines_.prepare();
    ssize_t const size = receive(room);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    }
    if (size <= 0) {
      std::string const why =
          size == 0 ? "closed by the peer" : "cannot read: " + error_text(errno);
      peer_has_closed_ = true;
      return close(why);
    }
    auto const count = static_cast<std::size_t>(size);
    total += count;
    lines_.commit(count);
    take_lines();
    if (count < room.size() && !until_nothing_is_left) {
      return;  // that was all; bytes that arrive meanwhile wake us again
    }
  }
}

/// Before its hello a peer may pass one descriptor; any other is closed when it arrives.
ssize_t Session::receive(std::span<char> room) {
  if (has_greeted_) {
    return ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  }
  iovec part{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t const size =
      ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  cmsghdr const* const head = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len > CMSG_LEN(0)) {
    // Padding leaves room for more descriptors than one: each has to be owned so that it is closed.
    for (std::size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + at, sizeof descriptor);
      passed_ = Descriptor(descriptor);
    }
  }
  return size;
}

void Session::take_lines() {
  auto const owner = owner_.lock();
  if (!owner) {
    return;
  }
  while (state_ == State::open) {
    auto const line = lines_.next_line();
    if (!line) {
      break;
    }
    owner->line(id_, *line);
  }
  if (state_ == State::open && lines_.is_overflowing()) {
    owner->line_too_long(id_);
  }
}

void Session::discard() {
  std::array<char, 16 * 1024> bytes;
  std::size_t total = 0;
  while (total < kReadAtOnce) {
    ssize_t const size = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (size <= 0) {
      peer_has_closed_ = true;
      if (state_ == State::ended) {
        error_code ignored;
        socket_.close(ignored);
        timer_.cancel();
      }
      return;
    }
    total += static_cast<std::size_t>(size);
  }
}

// ---- the end ---------------------------------------------------------------------------------

void Session::close(std::string_view why) {
  if (state_ != State::open) {
    return;
  }
  state_ = State::closing;
  has_cancels_ = false;
  why_ = why;
  schedule_flush();
}

void Session::abort(std::string_view why) {
  if (state_ == State::ended) {
    return;
  }
  peer_has_closed_ = true;  // no lingering
  end(state_ == State::closing ? why_ : std::string(why));
}

void Session::drop(Drop reason, std::string_view why) {
  if (auto const owner = owner_.lock(); owner && state_ != State::ended) {
    owner->dropped(id_, reason);
  }
  abort(why);
}

void Session::dismiss(std::string_view line) {
  if (state_ == State::open) {
    (void)::send(socket_.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    abort("dismissed by the supervisor");
  }
}

void Session::end(std::string_view why) {
  state_ = State::ended;
  writing_ = {};
  waiting_ = {};
  written_ = others_end_ = 0;
  has_cancels_ = false;
  passed_ = Descriptor();
  timer_.cancel();
  error_code ignored;
  if (peer_has_closed_) {
    socket_.close(ignored);
  } else {
    ::shutdown(socket_.native_handle(), SHUT_WR);
    timer_.expires_after(kLinger);
    timer_.async_wait([self = shared_from_this()](error_code const& error) {
      error_code closed;
      if (!error) {
        self->socket_.close(closed);
      }
    });
  }
  boost::asio::post(io_, [self = shared_from_this(), reason = std::string(why)] {
    self->lines_ = {};  // not earlier: the caller may still use a line from it
    if (auto const owner = self->owner_.lock()) {
      owner->ended(self->id_, reason);
    }
  });
}

// ---- the process -----------------------------------------------------------------------------

void Session::wait_process() {
  pidfd_.async_wait(stream_descriptor::wait_read,
                    [self = shared_from_this()](error_code const& error) {
                      if (!error) {
                        self->process_ended();
                      }
                    });
}

void Session::process_ended() {
  if (std::exchange(process_is_gone_, true) || !watched_) {
    return;
  }
  // Another process may still hold the connection, so only what the dead one wrote is read first.
  if (state_ == State::open) {
    read_up_to(kReadOfTheDead);
  }
  error_code ignored;
  pidfd_.close(ignored);
  if (auto const owner = owner_.lock()) {
    owner->process_gone(id_);
  }
}

void Session::unwatch() {
  watched_ = false;
  error_code ignored;
  pidfd_.close(ignored);
}

}  // namespace lastcall::ipc
