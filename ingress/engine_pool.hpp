// The connections of one proxy to its engine: those that carry a request, and those that are kept
// for the next one.
//
// Invariants:
//  1. A kept connection is handed out only when it is quiet: neither bytes nor an end wait on it.
//  2. The one that was used last is handed out first, so that the others may age and go.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ingress/socket.hpp"

namespace lastcall::ingress {

class Upstream;
struct ClientParts;

class EnginePool {
 public:
  /// Both outlive it; the engine is at one of the addresses.
  EnginePool(ClientParts& parts, std::vector<Endpoint> const& addresses);
  ~EnginePool();

  /// From the pool, unless it has to be a fresh one; nothing when there is none to be had.
  Upstream* acquire(bool fresh);
  /// Nobody answers at this address of the engine's: the next connection tries the one after it. An
  /// engine that listens with IPv4 only is not at the first address of `localhost`.
  void avoid_address(std::size_t address);
  std::size_t address() const { return address_; }
  std::size_t size() const { return all_.size(); }
  std::size_t addresses() const { return addresses_.size(); }
  Endpoint const& endpoint(std::size_t address) const { return addresses_[address]; }
  /// Closes what is kept for a next request.
  void close_kept();

  // Calls of its connections.
  /// Keeps it, or closes it where enough are kept.
  void keep(Upstream& upstream);
  void closed(Upstream& upstream);

 private:
  ClientParts& parts_;
  std::vector<Endpoint> const& addresses_;
  std::unordered_map<Upstream*, std::unique_ptr<Upstream>> all_;
  std::vector<Upstream*> kept_;
  std::size_t address_ = 0;  // of the engine's, where it was last
};

}  // namespace lastcall::ingress
