// Holds back, for a moment, reports of peers whose process has ended.
//
// When an engine dies, its SDK's process ends as well, and the pidfd of that process is often
// faster than the shim's report of the engine's end. If they were reported in that order, the
// requests would be lost first and the engine would then appear to die idle: a stop that lost work
// would look clean, and a fatal stop would begin without the requests that it cost. Therefore the
// cause is reported first: a peer with requests waits for the engine's end, or for kHold at most (a
// shim that is starved for longer counts as gone), and a peer whose end is itself a cause waits for
// kHoldCritical.
//
// A crowd that is released is reported in slices, between which everything else of the loop has its
// turn: each peer with many requests takes the core a millisecond. A peer that ends meanwhile comes
// after it.
//
// Thread rule: the loop's thread.
#pragma once

#include <deque>
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
  /// Reports one that need not be held: at once, or after those whose reports are under way.
  void report(ipc::PeerId peer);
  /// Reports those that are held now: as many as one slice takes at once, the others later.
  void release();

 private:
  struct Timers;

  void report_a_slice();

  Notify notify_;
  std::vector<ipc::PeerId> held_;
  std::deque<ipc::PeerId> released_;  // in the order of their ends, not reported yet
  std::shared_ptr<Timers> timers_;
};

}  // namespace lastcall::runtime
