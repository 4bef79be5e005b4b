#include "ingress/upstream.hpp"

#include <chrono>

#include <sys/epoll.h>

#include "ingress/client_parts.hpp"
#include "ingress/engine_pool.hpp"

namespace lastcall::ingress {
namespace {

/// No server closes a kept connection this soon without announcing that in its answer.
constexpr std::chrono::milliseconds kRecently{500};

}  // namespace

Upstream::Upstream(ClientParts& parts, EnginePool& pool, std::size_t address)
    : address_(static_cast<std::uint32_t>(address)), parts_(parts), pool_(pool) {}

bool Upstream::connect() {
  if (pool_.addresses() == 0) {
    return true;
  }
  Connect const made = begin_connect(pool_.endpoint(address_), socket_.plain());
  if (made == Connect::no_room) {
    parts_.deadlines.arm(deadline_, Wait::connect_again);
    return true;
  }
  connected_ = made == Connect::done && !pool_.speaks_tls();
  return made != Connect::failed && parts_.poller.add(socket_.get(), *this);
}

void Upstream::address_came(std::size_t address) {
  address_ = static_cast<std::uint32_t>(address);
  if (pool_.addresses() == 0 || !connect()) {
    owner_->connect_failed();
  } else if (connected_) {
    owner_->connected();
  }
}

void Upstream::ready(std::uint32_t events) {
  if (dead_) {
    return;
  }
  if (!connected_) {
    switch (socket_.reach(pool_, events)) {
      case EngineSocket::Reached::not_yet:
        return;
      case EngineSocket::Reached::failed:
        owner_->connect_failed();
        return;
      case EngineSocket::Reached::yes:
        break;
    }
    connected_ = true;
    owner_->connected();
    if (dead_) {
      return;
    }
  }
  closing_ = closing_ || (events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0;
  // The handshake may have read some of the bytes that follow it.
  readable_ = readable_ || closing_ || socket_.is_secure() || (events & EPOLLIN) != 0;
  if (owner_ == nullptr) {
    if (socket_.is_secure() && !closing_ && socket_.is_quiet()) {
      readable_ = false;     // only the library had something to send
    } else if (readable_) {  // a pooled connection can only report its end
      close();
    }
    return;
  }
  if ((events & EPOLLOUT) != 0 || socket_.is_secure()) {
    owner_->engine_takes_more();
  }
  pump();
}

void Upstream::pump(When when) {
  if (pumping_) {
    return;
  }
  if (when == When::next_turn) {
    if (readable_) {
      parts_.poller.again(*this);
    }
    return;
  }
  pumping_ = true;
  int reads = 0;
  while (!dead_ && readable_ && owner_ != nullptr && owner_->takes_response()) {
    if (parts_.poller.is_share_used(reads++)) {
      parts_.poller.again(*this);
      break;
    }
    std::span<char> const scratch = parts_.scratch;
    IoResult const got = socket_.read(scratch);
    switch (got.io) {
      case Io::some:
        readable_ = closing_ || socket_.is_secure() || got.size == scratch.size();
        owner_->response(scratch.first(got.size));
        break;
      case Io::would_block:
        readable_ = false;
        break;
      case Io::ended:
      case Io::broken:
        readable_ = false;
        socket_.report_failure(pool_);
        owner_->engine_ended(got.io == Io::ended);
        break;
    }
  }
  pumping_ = false;
  if (owner_ != nullptr) {
    owner_->handled();
  }
}

std::size_t Upstream::write(std::string_view bytes, bool& broken) {
  IoResult const put = socket_.write(bytes);
  broken = put.io == Io::broken;
  return put.size;
}

void Upstream::release(bool keep) {
  owner_ = nullptr;
  if (keep && !closing_ && connected_) {
    was_used_ = true;
    rests_since_ = parts_.poller.now();
    parts_.deadlines.arm(deadline_, Wait::upstream_idle);
    pool_.keep(*this);
  } else {
    close();
  }
}

bool Upstream::is_usable() {
  deadline_.disarm();
  return parts_.poller.now() - rests_since_ < kRecently || socket_.is_quiet();
}

void Upstream::wait_for(std::optional<Wait> what) {
  if (what) {
    parts_.deadlines.arm(deadline_, *what);
  } else {
    deadline_.disarm();
  }
}

void Upstream::expired(Wait wait) {
  if (wait == Wait::upstream_idle) {
    close();
  } else if (wait == Wait::connect) {
    socket_.report_late(pool_);
    owner_->expired(wait);
  } else if (wait != Wait::connect_again) {
    owner_->expired(wait);
  } else if (!connect()) {
    owner_->connect_failed();
  } else if (connected_) {
    owner_->connected();
  }
}

void Upstream::close() {
  if (!dead_) {
    dead_ = true;
    deadline_.disarm();
    if (socket_.is_open()) {
      parts_.poller.remove(socket_.get());
    }
    socket_.close();
    pool_.closed(*this);
  }
}

}  // namespace lastcall::ingress
