// The socket of one connection: bytes in, bytes out, and a descriptor that the peer may pass.
//
// Rules:
//  1. Nothing blocks. A read or a write that cannot go on returns -1 and sets errno to EAGAIN.
//  2. The last descriptor that the peer passed is owned here until it is taken; any other is closed
//     when it arrives.
//  3. A handler of wait_readable() or wait_writable() keeps the owner of this socket alive.
//
// Thread rule: the thread that runs the io_context. Source: unix(7), also SIOCINQ and SIOCOUTQ.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/types.h>

#include "base/descriptor.hpp"

namespace lastcall::ipc {

class PeerSocket {
 public:
  PeerSocket(boost::asio::io_context& io, Descriptor socket) : socket_(io, socket.release()) {}

  bool is_open() const { return socket_.is_open(); }
  void close();
  /// The peer reads an end after the bytes that were sent; its own bytes can still be read.
  void end_writing();

  /// The handler takes a boost::system::error_code.
  template <typename Handler>
  void wait_readable(Handler&& handler) {
    socket_.async_wait(Waiting::wait_read, std::forward<Handler>(handler));
  }
  template <typename Handler>
  void wait_writable(Handler&& handler) {
    socket_.async_wait(Waiting::wait_write, std::forward<Handler>(handler));
  }

  ssize_t receive(std::span<char> room);
  /// Like receive(), and takes over a descriptor that comes with the bytes.
  ssize_t receive_with_descriptor(std::span<char> room);
  Descriptor take_passed() { return std::move(passed_); }
  /// Reads and drops about `most` bytes; finds the end of the stream.
  void discard(std::size_t most);
  /// Nothing more will come, or nothing more is wanted of this peer.
  bool has_peer_closed() const { return peer_has_closed_; }
  void count_as_closed() { peer_has_closed_ = true; }
  /// The bytes that have arrived and were not received.
  std::size_t unread();
  /// Whether receive() would return bytes, the end of the stream, or an error.
  bool has_something();

  ssize_t send(std::string_view bytes);
  /// The bytes that were sent and that the peer has not read.
  int unread_by_peer();

 private:
  using Waiting = boost::asio::posix::stream_descriptor;

  boost::asio::posix::stream_descriptor socket_;
  Descriptor passed_;
  bool peer_has_closed_{};
};

}  // namespace lastcall::ipc
