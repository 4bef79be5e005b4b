#include "ipc/peer_socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace lastcall::ipc {

void PeerSocket::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void PeerSocket::end_writing() {
  ::shutdown(socket_.native_handle(), SHUT_WR);
}

ssize_t PeerSocket::receive(std::span<char> room) {
  return ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
}

ssize_t PeerSocket::receive_with_descriptor(std::span<char> room) {
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

void PeerSocket::discard(std::size_t most) {
  std::array<char, 16 * 1024> bytes;
  std::size_t total = 0;
  while (total < most) {
    ssize_t const size = receive(bytes);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (size <= 0) {
      return count_as_closed();
    }
    total += static_cast<std::size_t>(size);
  }
}

std::size_t PeerSocket::unread() {
  int unread = 0;
  bool const is_known = ::ioctl(socket_.native_handle(), SIOCINQ, &unread) == 0;
  return is_known && unread > 0 ? static_cast<std::size_t>(unread) : 0;
}

bool PeerSocket::has_something() {
  pollfd socket{socket_.native_handle(), POLLIN, 0};
  return ::poll(&socket, 1, 0) > 0;
}

ssize_t PeerSocket::send(std::string_view bytes) {
  return ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int PeerSocket::unread_by_peer() {
  int unread = 0;
  return ::ioctl(socket_.native_handle(), SIOCOUTQ, &unread) == 0 ? unread : 0;
}

}  // namespace lastcall::ipc
