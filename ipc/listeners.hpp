// The engine's socket and the admin socket, opened, followed and closed together.
//
// Rules:
//  1. The lock that is held while stale sockets are replaced is beside the admin socket, never
//     beside the engine's, because others share that directory.
//  2. The admin socket is opened first: the process that has it is the supervisor here.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ipc/listener.hpp"
#include "ipc/server.hpp"

namespace lastcall::ipc {

class Listeners {
 public:
  struct Handlers {
    std::function<void(Descriptor, bool is_admin)> accepted;
    std::function<void(std::string)> trouble;
  };

  /// `options` must outlive this.
  Listeners(boost::asio::io_context& io, ServerOptions const& options, Handlers const& handlers);

  std::optional<std::string> open();
  void follow();
  /// Accepts an engine's connection that already waits; false if none does.
  bool accept_engine_now() { return engines_.accept_one_now(); }
  void close();

 private:
  ServerOptions const& options_;
  std::function<void(std::string)> trouble_;
  Listener engines_;
  Listener admins_;
};

}  // namespace lastcall::ipc
