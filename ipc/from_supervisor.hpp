// The supervisor's messages, one struct for each `op`; the rules are in message.hpp.
//
// Pure values, no thread rule. Source: docs/ipc.md, 'From the supervisor'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/instant.hpp"
#include "ipc/limits.hpp"

namespace lastcall::ipc {

using lifecycle::Duration;
using lifecycle::Instant;

struct WelcomeBudgets {
  Duration deregister{};
  Duration late_accept{};
  Duration cleanup_reserve{};
  Duration cancel_settle{};
  friend bool operator==(WelcomeBudgets const&, WelcomeBudgets const&) = default;
};

struct Welcome {
  std::uint64_t version{kProtocolVersion};
  Phase phase{};
  Duration grace{};
  WelcomeBudgets budgets;
  std::optional<Duration> rest_grace;  // for a shim: the time for the rest of an engine's tree
  std::string probe = {};              // for an engine: marks our own requests to it
  friend bool operator==(Welcome const&, Welcome const&) = default;
};

struct PhaseChange {
  Phase phase{};
  std::optional<Instant> deadline_at;  // absent: no stop deadline
  friend bool operator==(PhaseChange const&, PhaseChange const&) = default;
};

struct Admitted {
  std::string id;
  friend bool operator==(Admitted const&, Admitted const&) = default;
};

struct Rejected {
  std::string id;
  RejectedReason reason{};
  std::optional<Duration> retry_after;
  std::optional<std::uint64_t> limit;  // how many requests may run and wait in total
  std::optional<std::uint64_t> count;  // how many did
  std::string detail;                  // the load that makes the engine busy; may be empty
  friend bool operator==(Rejected const&, Rejected const&) = default;
};

/// Requests of this peer to cancel; one line may carry many.
struct CancelBatch {
  std::vector<std::string> ids;
  CancelMode mode{};
  CancelReason reason{};
  friend bool operator==(CancelBatch const&, CancelBatch const&) = default;
};

struct HealthCheck {
  friend bool operator==(HealthCheck const&, HealthCheck const&) = default;
};

/// Doubts that were raised at that instant or earlier are settled: nothing is held back for them
/// any longer.
struct HealthCleared {
  Instant at{};
  friend bool operator==(HealthCleared const&, HealthCleared const&) = default;
};

struct Deregister {
  friend bool operator==(Deregister const&, Deregister const&) = default;
};

struct Cleanup {
  Instant deadline_at{};
  friend bool operator==(Cleanup const&, Cleanup const&) = default;
};

struct Remember {
  std::string blob;  // opaque to the shim; an empty one makes it forget
  friend bool operator==(Remember const&, Remember const&) = default;
};

/// The shim's instructions and report in case it has to finish this stop alone.
struct Will {
  StopMode mode{};
  Instant deadline_at{};
  std::optional<int> code;  // absent: depends on how the engine ends
  std::string report;       // a JSON object as text: what is known so far
  friend bool operator==(Will const&, Will const&) = default;
};

struct EngineStart {
  friend bool operator==(EngineStart const&, EngineStart const&) = default;
};

struct EngineSignal {
  std::string name;  // without SIG
  SignalScope scope{SignalScope::main};
  friend bool operator==(EngineSignal const&, EngineSignal const&) = default;
};

struct Exit {
  int code{};
  std::string report;  // one line of JSON as text; goes into the termination message
  friend bool operator==(Exit const&, Exit const&) = default;
};

/// The answer to `watch`.
struct StatusUpdate {
  std::string status;  // a JSON object as text
  friend bool operator==(StatusUpdate const&, StatusUpdate const&) = default;
};

}  // namespace lastcall::ipc
