#include "shim/outgoing.hpp"

#include <cstring>

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace lastcall::shim {
namespace {

bool is_for_now(int error) {
  return error == EAGAIN || error == EINTR;
}

/// Whether the error means that the other side of the connection is gone.
bool is_end(int error) {
  return error == EPIPE || error == ECONNRESET;
}

}  // namespace

void Outgoing::pass(int descriptor) {
  if (passed_ >= 0) {
    close(passed_);
  }
  passed_ = descriptor;
}

void Outgoing::clear() {
  lines_.clear();
  sent_ = 0;
}

Outgoing::Sent Outgoing::send(int socket) {
  if (lines_.overflowed()) {
    return Sent::broken;
  }
  std::string_view const pending = lines_.view().substr(sent_);
  if (!pending.empty()) {
    ssize_t const count = send_pending(socket, pending);
    if (count < 0 && !is_for_now(errno)) {
      bool const is_gone = is_end(errno);
      if (is_gone) {
        clear();
      }
      return is_gone ? Sent::other_side_is_gone : Sent::broken;
    }
    sent_ += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  if (sent_ == lines_.view().size()) {
    clear();
  }
  return Sent::as_far_as_it_goes;
}

ssize_t Outgoing::send_pending(int socket, std::string_view pending) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (passed_ < 0) {
    return ::send(socket, pending.data(), pending.size(), kFlags);
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
  ssize_t const count = sendmsg(socket, &message, kFlags);
  if (count < 0 && (is_for_now(errno) || is_end(errno))) {
    return count;
  }
  pass(-1);
  // If the system does not pass on the descriptor, the bytes are sent without it.
  return count > 0 ? count : ::send(socket, pending.data(), pending.size(), kFlags);
}

}  // namespace lastcall::shim
