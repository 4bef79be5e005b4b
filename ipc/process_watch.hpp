// Watches the end of the process that made a connection.
//
// Rules:
//  1. The handler of start() is called at most once, in a turn of its own, and not after stop().
//  2. The watch is independent of the connection: the process may close it and live on, or end
//     while another process holds it.
//  3. The handler keeps the owner of this watch alive until it was called or stop().
//
// Thread rule: the thread that runs the io_context. Source: pidfd_open(2).
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {

class ProcessWatch {
 public:
  ProcessWatch(boost::asio::io_context& io, PeerProcess process);

  void start(std::function<void()> ended);
  void stop();

 private:
  void wait(std::function<void()> ended);
  bool has_ended();

  boost::asio::posix::stream_descriptor pidfd_;
  bool is_watched_{};
};

}  // namespace lastcall::ipc
