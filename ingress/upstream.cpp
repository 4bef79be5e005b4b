#include "ingress/upstream.hpp"

#include <utility>

#include <sys/epoll.h>

#include "ingress/client.hpp"
#include "ingress/exchange.hpp"
#include "ingress/proxy.hpp"

namespace lastcall::ingress {
namespace {

constexpr int kReadsATurn = 16;

}  // namespace

Upstream::Upstream(Proxy& proxy, std::size_t address) : proxy_(proxy), address_(address) {}

Upstream::~Upstream() = default;

bool Upstream::connect() {
  Connect const made = begin_connect(proxy_.options().upstream[address_], socket_);
  if (made == Connect::no_room) {
    proxy_.deadlines().arm(deadline_, Wait::connect_again);
    return true;
  }
  connected_ = made == Connect::done;
  return made != Connect::failed && proxy_.poller().add(socket_.get(), *this);
}

void Upstream::ready(std::uint32_t events) {
  if (dead_) {
    return;
  }
  if (!connected_ && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
    if (!has_connected(socket_)) {
      client_->connect_failed();
      return;
    }
    connected_ = true;
    client_->connected();
    if (dead_) {
      return;
    }
  }
  closing_ = closing_ || (events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0;
  readable_ = readable_ || closing_ || (events & EPOLLIN) != 0;
  if (left_) {
    if ((events & EPOLLOUT) != 0) {
      send_left();
    }
    pump();
    return;
  }
  if (client_ == nullptr) {
    if (readable_) {  // a pooled connection has nothing to say but its end
      close();
    }
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    client_->engine_takes_more();
  }
  pump();
}

void Upstream::pump() {
  if (pumping_) {
    return;
  }
  pumping_ = true;
  int reads = 0;
  while (!dead_ && readable_ && (left_ || (client_ != nullptr && client_->takes_response()))) {
    if (++reads > kReadsATurn) {
      proxy_.poller().again(*this);
      break;
    }
    std::span<char> const scratch = proxy_.scratch();
    IoResult const got = read_some(socket_, scratch);
    switch (got.io) {
      case Io::some:
        readable_ = closing_ || got.size == scratch.size();
        if (!left_) {
          client_->response(scratch.first(got.size));
        } else if (has_begun({scratch.data(), got.size})) {
          let_go();
        }
        break;
      case Io::would_block:
        readable_ = false;
        break;
      case Io::ended:
      case Io::broken:
        readable_ = false;
        left_ ? let_go() : client_->engine_ended(got.io == Io::ended);
        break;
    }
  }
  pumping_ = false;
  if (client_ != nullptr) {
    client_->weigh();
  }
}

std::size_t Upstream::write(std::string_view bytes, bool& broken) {
  IoResult const put = write_some(socket_, bytes);
  broken = put.io == Io::broken;
  return put.size;
}

void Upstream::release(bool keep) {
  client_ = nullptr;
  if (keep && !closing_ && connected_) {
    was_used_ = true;
    proxy_.deadlines().arm(deadline_, Wait::upstream_idle);
    proxy_.pool(*this);
  } else {
    close();
  }
}

void Upstream::expired(Wait wait) {
  if (wait == Wait::connect_again) {
    if (!connect()) {
      client_->connect_failed();
    } else if (connected_) {
      client_->connected();
    }
  } else {
    left_ ? let_go() : close();
  }
}

void Upstream::close() {
  if (!dead_) {
    dead_ = true;
    deadline_.disarm();
    proxy_.poller().remove(socket_.get());
    socket_.close();
    proxy_.closed(*this);
  }
}

}  // namespace lastcall::ingress
