// Phase 3 and what comes after it: the list, the report, the exit, the next engine.
//
// Owned by the core's thread. Source: specification, 'Phase 3'; specification,
// 'After a stop'.
#pragma once

#include <cstdint>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// `first_step` > 0 resumes the list of an earlier life.
void begin_cleanup(Machines& m, Instant now, std::uint32_t first_step = 0);
/// Joint rule: the next order of the list.
bool apply_cleanup(Machines& m, Instant now);
/// The stop has ended: the supervisor ends too, or waits for the next shim once this one has left.
void end_supervisor_or_rearm(Machines& m, Instant now);
/// Back to `starting`: everything of the last stop is forgotten.
void rearm(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
