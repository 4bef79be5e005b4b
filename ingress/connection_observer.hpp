// The observer counts and logs what becomes of connections and of requests that are refused.
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

/// A client that speaks TLS could not be greeted.
struct GreetingFailed {
  TlsFailure why;
  std::string_view address;  // of the client
};

/// A request to a path that controls the engine, which was not open to every client, or which puts
/// the engine to rest or ends that.
struct ControlCall {
  bool is_granted = false;
  bool is_open = false;  // to every client: nothing decided
  relay::Rest rest = relay::Rest::none;
  std::string_view certificate;  // the name that granted it; empty: the token, or nothing
  std::string_view method;
  std::string_view path;     // as it came, its beginning
  std::string_view address;  // of the client
};

class ConnectionObserver {
 public:
  ConnectionObserver() = default;
  ConnectionObserver(ConnectionObserver const&) = delete;
  ConnectionObserver& operator=(ConnectionObserver const&) = delete;
  virtual ~ConnectionObserver() = default;

  virtual void refused(relay::Refusal const& refusal) = 0;
  /// One that is not granted is also reported to refused().
  virtual void control_called(ControlCall const& call) = 0;
  virtual void greeting_failed(GreetingFailed const& failed) = 0;
  /// A connection was closed for the sake of others, and a connection or a request was refused.
  virtual void evicted(Scarce what) = 0;
  virtual void shed(Scarce what) = 0;
  /// Serving one socket took long: `kind` of Watched. No other client of that thread was served.
  virtual void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) = 0;
  virtual void connections(std::size_t clients, std::size_t upstream) = 0;
};

}  // namespace lastcall::ingress
