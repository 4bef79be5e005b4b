// A registry that lives in the engine's process: the SDK there registers and deregisters itself.
//
// Invariants:
//  1. deregister asks every SDK peer once. It is confirmed when each of them has acknowledged or
//     its process is gone, so that routers find no process there. Without peers there is nothing to
//     remove, unless an earlier life had some: then they get time to reconnect.
//  2. A peer that connects while a deregister is running is asked, too: peer_joined(). If it is the
//     same process on another connection, its answer replaces the outstanding one: peer_replaced().
//  3. Registering sends no message: an SDK registers when it receives the phase `serving`.
//
// Thread rule: everything on the loop thread. Source: the IPC's `deregister` and `deregistered`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/peer_id.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

class IpcRegistry final : public Registry {
 public:
  /// Sends `deregister` to all SDK peers and returns which ones were asked.
  using AskAll = std::function<std::vector<PeerId>()>;

  /// Until when peers of an earlier life may still reconnect; nothing if all have.
  using ExpectedUntil = std::function<std::optional<TimePoint>()>;

  IpcRegistry(boost::asio::any_io_executor executor, AskAll ask_all, ExpectedUntil expected_until);
  ~IpcRegistry() override;

  void register_instances(TimePoint deadline, RegistryDone done) override;
  void deregister(TimePoint deadline, RegistryDone done) override;
  /// No retries: a peer that hangs would have one more callback to run after each.
  bool may_leave_later() const override { return false; }

  /// An SDK follows the phases, and no phase makes it register again.
  bool may_enter_again() const override { return false; }

  void peer_joined(PeerId peer);    // it was asked, too
  void peer_done(PeerId peer);      // it sent `deregistered`
  void peer_gone(PeerId peer);      // its process ended, or its requests became lost
  void peer_replaced(PeerId peer);  // its process answers on another connection
  /// Called when all peers of an earlier life may have reconnected.
  void peers_may_be_back();
  bool is_deregistering() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::discovery
