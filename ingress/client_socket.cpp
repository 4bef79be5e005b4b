#include "ingress/client_socket.hpp"

#include <utility>

#include <sys/epoll.h>

namespace lastcall::ingress {

ClientSocket::ClientSocket(Socket socket, std::unique_ptr<TlsSession> tls)
    : socket_(std::move(socket)), tls_(std::move(tls)) {}

void ClientSocket::note(std::uint32_t events) {
  has_ended_ = has_ended_ || (events & EPOLLRDHUP) != 0;
  may_read_ = may_read_ || has_ended_ || (events & EPOLLIN) != 0 || is_greeting();
}

void ClientSocket::look_for_end() {
  if (tls_ && may_read_ && !has_ended_) {
    has_ended_ = tls_->has_ended();
  }
}

IoResult ClientSocket::read(std::span<char> into) {
  IoResult const got = tls_ ? tls_->read(into) : read_some(socket_, into);
  if (got.io == Io::some) {
    may_read_ = has_ended_ || tls_ || got.size == into.size();
  } else if (got.io != Io::broken) {
    may_read_ = false;
  }
  return got;
}

IoResult ClientSocket::write(std::string_view bytes) {
  return tls_ ? tls_->write(bytes) : write_some(socket_, bytes);
}

void ClientSocket::end_output() {
  if (tls_) {
    tls_->send_close_notify();
  }
  ingress::end_output(socket_);
}

void ClientSocket::close(bool is_orderly) {
  if (is_orderly && tls_) {
    tls_->send_close_notify();
  }
  socket_.close();
}

}  // namespace lastcall::ingress
