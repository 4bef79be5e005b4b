// One listening socket on the loop: accepts, and rests when the process has no descriptor left.
//
// Rules:
//  1. An error of accept never spins: after one that concerns us the listener rests kAcceptPause,
//     and reports it once until it has accepted again.
//  2. close() removes the socket file, if it is still ours.
//  3. A path that leads elsewhere (its file was removed, its directory replaced) is bound again on
//     request; the earlier socket is given up once that has worked.
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

  /// Files that were cleared away are reported as trouble.
  [[nodiscard]] std::optional<std::string> open(std::string const& path, mode_t mode,
                                                Squatters squatters);
  /// Listens again where the path does not lead to this socket any more; connected peers stay.
  /// Returns what was done, or why it cannot be, for the log; empty while there is no news.
  [[nodiscard]] std::string follow();
  /// Takes what waits already, without waiting for its turn.
  void accept_now();
  void close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lastcall::ipc
