// Counts and logs the ends of connections, and refused requests.
//
// No exception leaves these calls, and none of them calls back. Thread rule: the thread of the
// front that calls. Source: docs/ingress.md, 'Limits' and 'Refusals'.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "ingress/scarce.hpp"
#include "ingress/tls_failure.hpp"
#include "relay/control_paths.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

/// The TLS handshake of a client failed.
struct GreetingFailed {
  TlsFailure why;
  std::string_view address;  // of the client
};

/// A request to a control path of the engine: to one that is not open to every client, or to one
/// that puts the engine to sleep or wakes it up.
struct ControlCall {
  bool is_granted = false;
  bool is_open = false;  // the path is open to every client, so nothing was decided
  relay::Rest rest = relay::Rest::none;
  std::string_view certificate;  // the name that granted it; empty for the token or none
  std::string_view method;
  std::string_view path;     // its start, unchanged
  std::string_view address;  // of the client
};

class ConnectionObserver {
 public:
  ConnectionObserver() = default;
  ConnectionObserver(ConnectionObserver const&) = delete;
  ConnectionObserver& operator=(ConnectionObserver const&) = delete;
  virtual ~ConnectionObserver() = default;

  virtual void refused(relay::Refusal const& refusal) = 0;
  /// A request that is not granted is also reported to refused().
  virtual void control_called(ControlCall const& call) = 0;
  virtual void greeting_failed(GreetingFailed const& failed) = 0;
  /// evicted(): a connection was closed to make room for others; shed(): a connection or a request
  /// was refused.
  virtual void evicted(Scarce what) = 0;
  virtual void shed(Scarce what) = 0;
  /// Serving one socket took long, and no other client of that thread was served meanwhile. `kind`
  /// is that of Watched.
  virtual void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) = 0;
  virtual void connections(std::size_t clients, std::size_t upstream) = 0;
};

}  // namespace lastcall::ingress
