// Holds reports of peers whose process has ended back for a moment.
//
// An engine that dies takes its SDK's process with it, and the pidfd of that is often faster than
// the shim's report of the engine's end. Reported in that order, requests would first be lost and
// the engine would then die idle: a stop that lost work would look clean, and a fatal one would
// begin without the requests that it cost. So the cause is reported first: a peer with requests
// waits for the engine's end, or for kHold at most (a shim that is starved for longer counts as
// gone), and a peer whose end is itself a cause waits for kHoldCritical.
//
// Thread rule: the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ipc/server.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class GonePeers {
 public:
  static constexpr lifecycle::Duration kHold{1'000};
  static constexpr lifecycle::Duration kHoldCritical{100};
  using Notify = std::function<void(ipc::PeerId)>;

  GonePeers(boost::asio::io_context& io, Notify notify);
  ~GonePeers();

  void hold(ipc::PeerId peer, lifecycle::Duration longest);
  void release();

 private:
  struct Timer;

  Notify notify_;
  std::vector<ipc::PeerId> held_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace lastcall::runtime
