#include "ingress/upstream.hpp"

#include <chrono>

#include <sys/epoll.h>

#include "ingress/client_parts.hpp"
#include "ingress/engine_pool.hpp"

namespace lastcall::ingress {
namespace {

constexpr int kEngineReadsATurn = 16;
/// No server closes a kept connection so soon without saying so in its answer.
constexpr std::chrono::milliseconds kRecently{500};

}  // namespace

Upstream::Upstream(ClientParts& parts, EnginePool& pool, std::size_t address)
    : parts_(parts), pool_(pool), address_(address) {}

bool Upstream::connect() {
  Connect const made = begin_connect(pool_.endpoint(address_), socket_);
  if (made == Connect::no_room) {
    parts_.deadlines.arm(deadline_, Wait::connect_again);
    return true;
  }
  connected_ = made == Connect::done;
  return made != Connect::failed && parts_.poller.add(socket_.get(), *this);
}

void Upstream::ready(std::uint32_t events) {
  if (dead_) {
    return;
  }
  if (!connected_ && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
    if (!has_connected(socket_)) {
      owner_->connect_failed();
      return;
    }
    connected_ = true;
    owner_->connected();
    if (dead_) {
      return;
    }
  }
  closing_ = closing_ || (events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0;
  readable_ = readable_ || closing_ || (events & EPOLLIN) != 0;
  if (owner_ == nullptr) {
    if (readable_) {  // a pooled connection has nothing to say but its end
      close();
    }
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    owner_->engine_takes_more();
  }
  pump();
}

void Upstream::pump() {
  if (pumping_) {
    return;
  }
  pumping_ = true;
  int reads = 0;
  while (!dead_ && readable_ && owner_ != nullptr && owner_->takes_response()) {
    if (++reads > kEngineReadsATurn) {
      parts_.poller.again(*this);
      break;
    }
    std::span<char> const scratch = parts_.scratch;
    IoResult const got = read_some(socket_, scratch);
    switch (got.io) {
      case Io::some:
        readable_ = closing_ || got.size == scratch.size();
        owner_->response(scratch.first(got.size));
        break;
      case Io::would_block:
        readable_ = false;
        break;
      case Io::ended:
      case Io::broken:
        readable_ = false;
        owner_->engine_ended(got.io == Io::ended);
        break;
    }
  }
  pumping_ = false;
  if (owner_ != nullptr) {
    owner_->handled();
  }
}

void Upstream::pump_soon() {
  if (readable_ && !pumping_) {
    parts_.poller.again(*this);
  }
}

std::size_t Upstream::write(std::string_view bytes, bool& broken) {
  IoResult const put = write_some(socket_, bytes);
  broken = put.io == Io::broken;
  return put.size;
}

void Upstream::release(bool keep) {
  owner_ = nullptr;
  if (keep && !closing_ && connected_) {
    was_used_ = true;
    rests_since_ = monotonic_now();
    parts_.deadlines.arm(deadline_, Wait::upstream_idle);
    pool_.keep(*this);
  } else {
    close();
  }
}

bool Upstream::is_usable() {
  deadline_.disarm();
  return monotonic_now() - rests_since_ < kRecently || is_quiet(socket_);
}

void Upstream::expired(Wait wait) {
  if (wait != Wait::connect_again) {
    close();
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
    parts_.poller.remove(socket_.get());
    socket_.close();
    pool_.closed(*this);
  }
}

}  // namespace lastcall::ingress
