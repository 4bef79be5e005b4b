// The will: what the shim does and reports if it must finish a stop without a supervisor.
//
// Rules:
//  1. There is a will from the cause of a stop until its exit is ordered, and none outside of a
//     stop: a drain can be undone, and the shim's own table is right for a stop that begins without
//     a supervisor.
//  2. It contains the exit code if nothing that can still happen changes it: a fatal stop, a stop
//     of an engine that was not ready yet, work that went down with the engine, an engine that has
//     ended. Otherwise the code depends on how the engine ends, which the shim observes itself.
//
// Pure function. Source: specification, 'Failing safe'; exit_code.hpp.
#pragma once

#include <optional>

#include "core/action.hpp"
#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {

struct WillFacts {
  Phase phase = Phase::starting;
  std::optional<ShutdownCoordinator::Stop> const& stop;
  bool engine_has_ended = false;
  bool died_with_work = false;
  int code = 0;  // by the table, as far as it is known
};

std::optional<LeaveWill> will_of(WillFacts const& facts);

}  // namespace lastcall::lifecycle
