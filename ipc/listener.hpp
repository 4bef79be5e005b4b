// One listening socket on the loop; it pauses when the process has no descriptors left.
//
// Rules:
//  1. An error of accept does not make the loop spin: after an error on our side the listener
//     pauses for kAcceptPause, and reports the error once until it has accepted again.
//  2. close() removes the socket file if it is still ours.
//  3. If the path leads elsewhere (its file was removed, or its directory replaced), it is bound
//     again on request; the earlier socket is given up once that has worked.
//
// Thread rule: the thread that runs the io_context. Source: accept(2), docs/ipc.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ipc/unix_socket.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::ipc {

inline constexpr std::chrono::milliseconds kAcceptPause{100};

class Listener {
 public:
  struct Handlers {
    std::function<void(Descriptor)> accepted;
    std::function<void(std::string)> trouble;
  };

  Listener(boost::asio::io_context& io, Handlers handlers);
  ~Listener();
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;

  /// Reports files that it cleared away as trouble.
  [[nodiscard]] std::optional<std::string> open(std::string const& path, mode_t mode,
                                                Squatters squatters);
  /// Listens again if the path does not lead to this socket any more; connected peers stay. Returns
  /// what was done, or why it failed, for the log; empty if there is nothing new to report.
  [[nodiscard]] std::string follow();
  /// Accepts a connection that already waits, without waiting for the loop; false if none does.
  bool accept_one_now();
  void close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lastcall::ipc
