// A registry that lives in the engine's process: the SDK there registers and deregisters itself.
//
// Invariants:
//  1. deregister asks every SDK peer once and is confirmed when each one asked has acked or its
//     process is gone (no process is left to be found). With no peer there is nothing to remove,
//     unless an earlier life had some: then they get their time to come back.
//  2. A peer that connects while a deregister is under way is asked too: peer_joined(). Where it is
//     the same process on another connection, its answer is the one that is owed: peer_replaced().
//  3. Registering needs no question: an SDK registers when it receives the phase `serving`.
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

  /// Until when peers of an earlier life may still come back; nothing: all are here.
  using ExpectedUntil = std::function<std::optional<TimePoint>()>;

  IpcRegistry(boost::asio::any_io_executor executor, AskAll ask_all, ExpectedUntil expected_until);
  ~IpcRegistry() override;

  std::string const& kind() const override;
  void register_instances(TimePoint deadline, RegistryDone done) override;
  void deregister(TimePoint deadline, RegistryDone done) override;
  /// A peer that hangs there would have one callback more to run each time.
  bool may_leave_later() const override { return false; }

  /// An SDK receives phases, and none that begins again.
  bool may_enter_again() const override { return false; }

  void peer_joined(PeerId peer);    // it was asked too
  void peer_done(PeerId peer);      // it sent `deregistered`
  void peer_gone(PeerId peer);      // its process ended, or its requests became lost
  void peer_replaced(PeerId peer);  // its process answers on another connection
  /// Peers of an earlier life may all be here now.
  void peers_may_be_back();
  bool is_deregistering() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::discovery
