// The time that a peer whose socket takes no more has to read something.
//
// Rules:
//  1. The handler of arm() is called once the time is over, unless cancel() or arm() came first.
//  2. The kernel reports a socket as writable only when most of it was read, so a peer that is not
//     writable may still be reading slowly: has_read() knows.
//
// Thread rule: the thread that runs the io_context.
#pragma once

#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "ipc/peer_socket.hpp"

namespace lastcall::ipc {

class StallTimer {
 public:
  StallTimer(boost::asio::io_context& io, PeerSocket& socket, std::chrono::milliseconds timeout)
      : timer_(io), socket_(socket), timeout_(timeout) {}

  /// The handler keeps the owner of this timer alive.
  template <typename Handler>
  void arm(Handler handler) {
    unread_ = socket_.unread_by_peer();
    timer_.expires_after(timeout_);
    timer_.async_wait([this, expired = std::move(handler)](boost::system::error_code error) {
      if (!error && timer_.expiry() <= std::chrono::steady_clock::now()) {
        expired();
      }
    });
  }
  void cancel() { timer_.cancel(); }
  bool has_read() const { return socket_.unread_by_peer() < unread_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  boost::asio::steady_timer timer_;
  PeerSocket& socket_;
  std::chrono::milliseconds timeout_;
  int unread_{};  // the peer's unread bytes when the timer was armed
};

}  // namespace lastcall::ipc
