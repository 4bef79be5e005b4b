// The supervisor's messages, one struct an `op`; the rules are in message.hpp.
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
  std::optional<Duration> rest_grace;  // for a shim: the rest of an engine's tree has so long
  std::string probe = {};              // for an engine: how our own requests to it are marked
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
  std::optional<std::uint64_t> limit;  // may run and wait together
  std::optional<std::uint64_t> count;  // did
  std::string detail;                  // by which load the engine is busy; may be empty
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

/// What was doubted at that instant or before need not be held back any longer.
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
  std::string blob;  // opaque to the shim; the empty one forgets
  friend bool operator==(Remember const&, Remember const&) = default;
};

/// The shim's actions and report if it must finish this stop alone.
struct Will {
  StopMode mode{};
  Instant deadline_at{};
  std::optional<int> code;  // absent: how the engine ends decides
  std::string report;       // a JSON object as text: what is known now
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
