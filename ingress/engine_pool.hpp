// The connections of one proxy to its engine: those that carry a request, and those that are kept
// for the next one.
//
// Invariants:
//  1. A kept connection is handed out only when it is quiet: neither bytes nor an end wait on it.
//  2. The one that was used last is handed out first, so that the others may age and go.
//  3. Its addresses may change, and be none: while they are awaited, connections wait for them.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingress/socket.hpp"
#include "ingress/tls_client.hpp"

namespace lastcall::ingress {

class Upstream;
struct ClientParts;

/// How TLS is spoken to an engine.
struct EngineTls {
  TlsClientContext* context = nullptr;                    // outlives the pool; none: plain HTTP
  std::string name{};                                     // whose certificate it has to show
  std::function<void(std::string_view why)> failed = {};  // a greeting
};

class EnginePool {
 public:
  /// `parts` and `addresses` outlive it; the engine is at one of the addresses.
  EnginePool(ClientParts& parts, std::vector<Endpoint> const& addresses, EngineTls tls = {});
  ~EnginePool();

  /// From the pool, unless it has to be a fresh one; nothing when there is none to be had.
  Upstream* acquire(bool fresh);
  /// No process answers at this address of the engine's: the next connection tries the one after
  /// it. An engine that listens with IPv4 only is not at the first address of `localhost`.
  void avoid_address(std::size_t address);
  std::size_t address() const { return address_; }
  std::size_t size() const { return all_.size(); }
  std::size_t addresses() const { return addresses_.size(); }
  Endpoint const& endpoint(std::size_t address) const { return addresses_[address]; }
  /// Closes what is kept for a next request.
  void close_kept();
  /// There are no addresses, and there may be some soon.
  void await_addresses() { awaits_addresses_ = true; }
  /// They are others now; none: no address is known.
  void addresses_came();

  // Calls of its connections.
  /// Keeps it, or closes it where enough are kept.
  void keep(Upstream& upstream);
  void closed(Upstream& upstream);
  bool speaks_tls() const { return tls_.context != nullptr; }
  std::unique_ptr<TlsSession> begin_tls(Socket const& socket) const {
    return tls_.context->connect(socket, tls_.name);
  }
  void tls_failed(std::string_view why) const {
    if (tls_.failed) {
      tls_.failed(why);
    }
  }

 private:
  ClientParts& parts_;
  std::vector<Endpoint> const& addresses_;
  std::unordered_map<Upstream*, std::unique_ptr<Upstream>> all_;
  std::vector<Upstream*> kept_;
  std::vector<Upstream*> waiting_;  // for an address
  std::size_t address_ = 0;         // of the engine's, where it was last
  bool awaits_addresses_ = false;
  EngineTls const tls_;
};

}  // namespace lastcall::ingress
