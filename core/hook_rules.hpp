// preStop mode: the engine's container has no shim. Its preStop call holds the stop signal until
// phase 2 has ended, and another engine in its place is recognized by watching it.
//
// Owned by the core's thread. Source: specification, 'preStop'.
#pragma once

#include <string>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Whatever the hook was taken for, from here on it is the pod's end.
void note_deletion(Machines& m);
/// Every call that waits may return. False: none waits.
bool release_hook(Machines& m, Instant now);
void await_replacement(Machines& m, Instant now, Awaiting awaiting);
/// From here on every check has to pass again; in a pod that goes, none of that makes it serve.
void end_awaiting(Machines& m, std::string how);

// --- joint rules ---
/// Handles a hook's report that the pod has outlived. Its engine may have received a stop signal,
/// so every check has to pass again.
bool apply_disproof(Machines& m, Instant now);
/// Calls return when phases 1 and 2 are over; the pod's deletion decides what comes then.
bool apply_hook(Machines& m, Instant now);
/// Nothing was seen of another engine in time.
void apply_awaiting(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
