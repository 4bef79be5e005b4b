// The instance's phase and deadline, as the supervisor has reported them.
//
// Rules:
//  1. They are kept while there is no supervisor: a stop goes on without one.
//  2. A welcome in the middle of a stop does not repeat the deadline.
//  3. on_change() is called once a change, in the order of the changes.
//
// Thread rule: the program's methods from any thread; the supervisor's under the session's mutex.
// Source: docs/ipc.md, 'phase'.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <lastcall/words.hpp>

#include "ipc/from_supervisor.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

/// The instant of the protocol on the clock of this process, which is the same.
inline Clock::time_point instant_of(ipc::Instant at) {
  return Clock::time_point(at.time_since_epoch());
}

class InstancePhase {
 public:
  explicit InstancePhase(SessionLock& lock) : lock_(lock) {}

  // For the program.
  /// Whether a supervisor has welcomed this client.
  bool is_connected();
  std::optional<Phase> phase();
  std::optional<std::chrono::milliseconds> time_left();
  void on_change(std::function<void(Phase)> callback);

  // From the supervisor.
  void welcomed(ipc::Welcome const& message, Later& later);
  void changed(ipc::PhaseChange const& message, Later& later);
  /// The connection has ended; returns whether it had a welcome.
  bool lost();

 private:
  void enter(Phase phase, Later& later);

  SessionLock& lock_;
  bool is_welcomed_{};
  std::optional<Phase> phase_;
  std::optional<Clock::time_point> deadline_;
  std::function<void(Phase)> callback_;
};

}  // namespace lastcall::sdk
