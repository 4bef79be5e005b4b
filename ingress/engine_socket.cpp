#include "ingress/engine_socket.hpp"

#include <sys/epoll.h>

#include "ingress/engine_pool.hpp"

namespace lastcall::ingress {

EngineSocket::Reached EngineSocket::reach(EnginePool const& pool, std::uint32_t events) {
  if (!tls_) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) {
      return Reached::not_yet;
    }
    if (!has_connected(socket_)) {
      return Reached::failed;
    }
    if (!pool.speaks_tls()) {
      return Reached::yes;
    }
    tls_ = pool.begin_tls(socket_);
    if (!tls_) {
      return Reached::failed;
    }
  }
  switch (tls_->greet()) {
    case Io::some:
      return Reached::yes;
    case Io::would_block:
      return Reached::not_yet;
    case Io::ended:
    case Io::broken:
      break;
  }
  pool.tls_failed(tls_->failure() ? tls_->failure()->detail
                                  : "the connection ended during the handshake");
  return Reached::failed;
}

void EngineSocket::end_output() const {
  if (tls_) {
    tls_->send_close_notify();
  }
  ingress::end_output(socket_);
}

void EngineSocket::close() {
  if (tls_) {
    tls_->send_close_notify();
    tls_.reset();
  }
  socket_.close();
}

void EngineSocket::report_late(EnginePool const& pool) const {
  if (tls_) {  // before that, nobody may listen there
    pool.tls_failed("the handshake took too long");
  }
}

void EngineSocket::report_failure(EnginePool const& pool) const {
  if (tls_ && tls_->failure()) {
    pool.tls_failed(tls_->failure()->detail);
  }
}

}  // namespace lastcall::ingress
