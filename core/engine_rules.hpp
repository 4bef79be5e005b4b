// Reports about the engine: its shim, its process, its checks and its gauges.
//
// Owned by the core's thread. Source: specification, 'Fatal'; specification, 'Unresponsive'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// A byte of any request moved, or the engine's own counter did.
void progressed(Machines& m, Instant now);

// --- joint rules ---
/// The verdict of checks and progress. True: it was fatal.
bool apply_verdict(Machines& m, Instant now);
/// A request of our own goes out, or has to end before what comes next.
bool apply_token(Machines& m, Instant now);
/// A shim that is not back in time is lost.
void apply_shim_loss(Machines& m, Instant now);
/// The rest of the engine's tree, and a main process whose essential processes are all gone.
void apply_rest(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
