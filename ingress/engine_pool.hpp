// The connections of one proxy to its engine: those that carry a request, and those that are kept
// for the next one.
//
// Invariants:
//  1. A kept connection is reused only if neither bytes nor an end wait on it.
//  2. The one that was used last is reused first, so that the others can expire.
//  3. Idle connections do not take descriptors from requests: above max_connections, the one of all
//     pools that has been idle for longest is closed before a new one is made.
//  4. The engine's addresses may change or be missing; connections wait while they are looked up.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingress/seats.hpp"
#include "ingress/socket.hpp"
#include "ingress/tls_client.hpp"

namespace lastcall::ingress {

class Upstream;
struct ClientParts;

/// The settings of TLS to an engine.
struct EngineTls {
  TlsClientContext* context = nullptr;                    // outlives the pool; null: plain HTTP
  std::string name{};                                     // the name of its certificate
  std::function<void(std::string_view why)> failed = {};  // a handshake failed
};

class EnginePool {
 public:
  /// `parts` and `addresses` outlive it; the engine is at one of the addresses.
  EnginePool(ClientParts& parts, std::vector<Endpoint> const& addresses, EngineTls tls = {});
  ~EnginePool();

  /// Returns a connection from the pool, or a new one if it has to be fresh; absent if there can be
  /// none.
  Upstream* acquire(bool fresh);
  /// No process answers at this address of the engine, so the next connection tries the following
  /// one. An engine that listens with IPv4 only is not at the first address of `localhost`.
  void avoid_address(std::size_t address);
  std::size_t address() const { return address_; }
  std::size_t size() const { return all_.size(); }
  std::size_t addresses() const { return addresses_.size(); }
  Endpoint const& endpoint(std::size_t address) const { return addresses_[address]; }
  /// Closes idle connections.
  void close_kept();
  /// There are no addresses, but there may be some soon.
  void await_addresses() { awaits_addresses_ = true; }
  /// The addresses were set; if there are none, no address is known.
  void addresses_came();

  // Calls of its connections.
  /// Keeps the connection, or closes it if enough are kept.
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
  void make_room();

  ClientParts& parts_;
  std::vector<Endpoint> const& addresses_;
  Seats<Upstream> all_;
  std::vector<Upstream*> kept_;
  std::vector<Upstream*> waiting_;  // connections that wait for an address
  std::size_t address_ = 0;         // the engine's address that was last in use
  bool awaits_addresses_ = false;
  EngineTls const tls_;
};

}  // namespace lastcall::ingress
