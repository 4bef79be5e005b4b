// Reports about the engine: its shim, its process, its checks and its gauges.
//
// Owned by the core's thread. Source: specification, 'Fatal'; specification, 'Unresponsive'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// A byte of any request has moved, or the engine's own counter has.
void progressed(Machines& m, Instant now);

// --- joint rules ---
/// Applies the verdict of checks and progress. Returns true if it was fatal.
bool apply_verdict(Machines& m, Instant now);
/// Sends a request of one token, or withdraws it before the next step of the lifecycle.
bool apply_token(Machines& m, Instant now);
/// Decides that a shim which is not back in time is lost.
void apply_shim_loss(Machines& m, Instant now);
/// Kills the rest of the engine's tree in time, and a main process that has lost all its essential
/// processes.
void apply_rest(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
