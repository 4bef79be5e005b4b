// The state of the supervisor that the probe listener shows: a plain value that the loop publishes.
//
// Rules:
//  1. The listener decides nothing. The loop publishes whether requests should come and whether the
//     engine lives, with the reason in words; the listener only formats it.
//  2. A reader gets one complete published state, never a mixture of two.
//  3. The heartbeat is separate from the state, so that an idle loop proves that it is alive
//     without copying anything: one atomic store on a timer that runs anyway.
//
// Thread rule: the loop thread publishes and beats, any thread reads.
// Source: specification, 'Probes', which follows Kubernetes' livez and readyz.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace lastcall::probes {

using Duration = std::chrono::milliseconds;

/// One engine check as last seen.
struct CheckRow {
  std::string name;
  bool passed = false;
  std::string detail;  // why not; empty while it passes
  Duration latency{};
};

/// One registry as last seen; `state` is its word, such as `registered` or `deregistering`.
struct RegistryRow {
  std::string name;
  std::string state;
  bool settled = false;  // the state is the desired one
  std::string detail;    // last error, if any
};

/// One endpoint of the engine, by the name that its SDK or the ingress gave it.
struct EndpointRow {
  std::string name;
  bool ready = false;
};

enum class SocketState : std::uint8_t { pending, bound, lost };

struct ProbeState {
  std::string phase = "starting";

  bool ready = false;  // requests should come
  std::string ready_reason = "the supervisor is starting";

  std::string shim_missing;  // why the missing shim is a danger; empty: the engine has one

  bool busy = false;  // new requests are refused for load; it never turns readiness off

  SocketState socket = SocketState::pending;  // the IPC socket
  std::string socket_detail;

  bool engine_started = false;  // every check passed once
  bool engine_alive = true;     // false: dead or wedged, until it was replaced
  std::string engine_verdict = "starting";
  std::string engine_reason;

  std::vector<CheckRow> checks;
  std::vector<RegistryRow> registries;
  std::vector<EndpointRow> endpoints;

  std::size_t peers = 0;
  std::optional<std::uint64_t> in_flight;  // unset: unknown
};

/// Passes the state from the loop to the listener's thread.
class PublishedState {
 public:
  /// The constructor counts as the first beat: a process that has just begun is not stalled.
  PublishedState();

  void publish(ProbeState state);
  ProbeState read() const;

  /// Records that the loop is moving. Called from the health timer; one relaxed store.
  void beat() { last_beat_ms_.store(monotonic_ms(), std::memory_order_relaxed); }
  Duration since_beat() const;
  Duration uptime() const;

 private:
  std::int64_t const started_ms_;
  std::atomic<std::int64_t> last_beat_ms_;
  mutable std::mutex mutex_;
  ProbeState state_;
};

}  // namespace lastcall::probes
