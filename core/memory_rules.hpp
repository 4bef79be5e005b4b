// The memory that survives a supervisor: when it is remembered, what the shim does without one, how
// it is restored.
//
// Owned by the core's thread. Source: specification, 'Remembering'; specification, 'The will'.
#pragma once

#include <string>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// An earlier life's blob. `stop_follows`: its source reports a stop or an exit as well.
void restore(Machines& m, Instant now, std::string const& blob, bool stop_follows);
/// First in its step: what is ordered next must not be lost with us.
void remember_if_changed(Machines& m);
/// Ordered before anything else but Remember: a supervisor that is frozen after its next line has
/// left it.
void leave_will_if_changed(Machines& m);

}  // namespace lastcall::lifecycle::rules
