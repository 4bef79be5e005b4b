// The memory that survives a supervisor: when it is written, what the shim does without a
// supervisor, and how it is restored.
//
// Owned by the core's thread. Source: specification, 'Remembering'; specification, 'The will'.
#pragma once

#include <string>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Restores an earlier life's blob. `stop_follows`: its source reports a stop or an exit as well.
void restore(Machines& m, Instant now, std::string const& blob, bool stop_follows);
/// Comes first in its step, so that what is ordered next is not lost with this supervisor.
void remember_if_changed(Machines& m);
/// Comes right after Remember, so that the will is there even if the supervisor freezes after the
/// next line.
void leave_will_if_changed(Machines& m);

}  // namespace lastcall::lifecycle::rules
