// preStop mode: the engine's container has no shim. Its preStop call holds the stop signal until
// phase 2 has ended, and another engine in its place is recognized by watching it.
//
// Owned by the core's thread. Source: specification, 'preStop'.
#pragma once

#include <string>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// From here on the hook counts as the pod's deletion, whatever it counted as before.
void note_deletion(Machines& m);
/// Every waiting call may return. Returns false if none waits.
bool release_hook(Machines& m, Instant now);
void await_replacement(Machines& m, Instant now, Awaiting awaiting);
/// From here on every check has to pass again; in a pod that is being deleted, even that does not
/// make it serve.
void end_awaiting(Machines& m, std::string how);

// --- joint rules ---
/// Handles a hook's report that turned out to be false, because the pod has outlived it. The engine
/// may have received a stop signal, so every check has to pass again.
bool apply_disproof(Machines& m, Instant now);
/// Returns calls when phases 1 and 2 are over; the pod's deletion decides what follows.
bool apply_hook(Machines& m, Instant now);
/// Stops waiting if no other engine was seen in time.
void apply_awaiting(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
