// The writing half of a session: it makes one write per turn, makes cancels on demand, and drops
// stalled peers.
#include <cerrno>
#include <utility>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/error_text.hpp"
#include "ipc/session.hpp"

namespace lastcall::ipc {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

/// Cancels are made while fewer bytes than this wait to be written.
constexpr std::size_t kCancelRoom = 64 * 1024;

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

std::size_t Session::other_waiting() const {
  return waiting_.size() + (others_end_ > written_ ? others_end_ - written_ : 0);
}

void Session::queued() {
  if (state_ == State::ended) {
    waiting_.clear();
    return;
  }
  if (!is_patient_ && other_waiting() > limits_.max_waiting) {
    return drop(Drop::backlog,
                "more than " + std::to_string(limits_.max_waiting) + " bytes wait for it");
  }
  schedule_flush();
}

void Session::cancels_ready() {
  if (state_ == State::open) {
    has_cancels_ = true;
    schedule_flush();
  }
}

void Session::schedule_flush() {
  if (flush_is_scheduled_ || is_blocked_) {
    return;
  }
  flush_is_scheduled_ = true;
  outbox_->add(shared_from_this());
}

void Session::flush_now() {
  flush_is_scheduled_ = false;
  flush();
}

/// Takes the waiting lines and as many cancels as there is room for; false if there is nothing to
/// write.
bool Session::refill(SessionOwner& owner) {
  writing_.clear();
  written_ = 0;
  std::swap(writing_, waiting_);
  others_end_ = writing_.size();
  if (has_cancels_ && writing_.size() < kCancelRoom) {
    has_cancels_ = owner.make_cancels(id_, kCancelRoom - writing_.size(), writing_);
  }
  return !writing_.empty();
}

void Session::flush() {
  auto const owner = owner_.lock();
  if (state_ == State::ended || is_blocked_ || !owner) {
    return;
  }
  while (written_ < writing_.size() || refill(*owner)) {
    ssize_t const size = ::send(socket_.native_handle(), writing_.data() + written_,
                                writing_.size() - written_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size >= 0) {
      written_ += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return wait_writable();
    } else if (errno != EINTR && errno != EPIPE && errno != ECONNRESET) {
      // The peer is alive: it reconnects and announces everything again only if it sees an end.
      return abort("cannot write: " + error_text(errno));
    } else if (errno != EINTR) {
      // The peer can no longer read it. Its earlier bytes are still to be read: the reading side
      // decides when the connection is over.
      has_cancels_ = false;
      waiting_.clear();
      written_ = writing_.size();
      peer_has_closed_ = peer_has_closed_ || state_ == State::closing;
      break;
    }
  }
  writing_.clear();
  written_ = 0;
  others_end_ = 0;
  if (state_ == State::closing) {
    end(why_);
  }
}

void Session::wait_writable() {
  is_blocked_ = true;
  arm_stall();
  socket_.async_wait(stream_descriptor::wait_write,
                     [self = shared_from_this()](error_code const& error) {
                       self->is_blocked_ = false;
                       if (!error) {
                         self->timer_.cancel();
                         self->flush();
                       }
                     });
}

int Session::unread_by_peer() {
  int unread = 0;
  return ::ioctl(socket_.native_handle(), SIOCOUTQ, &unread) == 0 ? unread : 0;
}

void Session::arm_stall() {
  unread_ = unread_by_peer();
  timer_.expires_after(limits_.stall_timeout);
  timer_.async_wait([self = shared_from_this()](error_code const& error) {
    if (!error && self->is_blocked_ && self->timer_.expiry() <= now()) {
      self->stalled();
    }
  });
}

void Session::stalled() {
  // The kernel reports a socket as writable only when most of it was read, so a peer that is not
  // writable may still be reading slowly.
  bool const has_read = unread_by_peer() < unread_;
  if (has_read || (is_patient_ && state_ == State::open)) {
    return arm_stall();
  }
  drop(Drop::slow_reader,
       "has read nothing for " + std::to_string(limits_.stall_timeout.count()) + " ms");
}

}  // namespace lastcall::ipc
